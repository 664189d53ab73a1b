"""Cases of fits: every estimator with odd shapes, types, encodings, magnitudes and labels."""

from __future__ import annotations

import tempfile
import warnings
from collections.abc import Callable
from functools import cache, partial
from importlib.util import find_spec
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from scipy import sparse

from contract.problems import accepts_sparse, fresh, stored_awkwardly
from contract.registry import CASES, SPARSE_DIFFERS, Case
from labelgap import Labels
from reliability.outcomes import Outcome, outcome_of

SHAPES = [
    (1, 1, 1),
    (2, 1, 2),
    (3, 2, 1),
    (8, 5, 3),
    (12, 30, 4),
    (40, 3, 2),
    (40, 6, 9),
    (60, 1, 1),
    (1, 4, 3),
    (6, 90, 2),
    (5, 2, 12),
    (0, 3, 2),
    (9, 0, 2),
    (9, 3, 0),
]
VALUES = (
    "normal",
    "counts",
    "zeros",
    "constant column",
    "equal rows",
    "few distinct rows",
    "equal columns",
    "nearly empty",
    "columns of all sizes",
    "negative zeros",
    "one huge",
    "a nan",
    "an inf",
)
SCALES = (1.0, 1.0, 1.0, 1e-300, 1e-30, 1e-8, 1e8, 1e15, 1e29, 1e31, 1e150, 1e300, 5e-324)
DTYPES = ("float64", "float64", "float64", "float32", "float16", "int8", "int64", "bool", "object")
DTYPES += ("longdouble", "complex128", "str", "uint8", "uint64", "int16", ">f8", "bytes")
LABELS = ("gaps", "complete", "all one", "all zero", "all unknown", "one positive", "one known row")
LABELS += (
    "equal labels",
    "opposite labels",
    "one known entry",
    "unknown rows",
    "one unknown label",
)
X_FORMS = (
    "array",
    "fortran",
    "list",
    "read-only",
    "csr",
    "csc",
    "coo",
    "awkward",
    "pandas",
    "polars",
    "bsr",
    "lil",
    "dok",
    "dia",
    "strided",
    "matrix",
    "memmap",
    "nullable",
    "sparse frame",
    "shuffled frame",
)
SPARSE_FORMS = ("csr", "csc", "coo", "awkward", "bsr", "lil", "dok", "dia")
FRAMES = ("pandas", "polars", "nullable", "sparse frame", "shuffled frame")
Y_FORMS = ("array", "object", "masked", "signed", "sparse with mask", "pandas", "Int8", "list")
Y_FORMS += ("polars", "boolean", "float16", "fortran", "read-only", "strided", "shuffled frame")
# what is asked of the fitted model
ASKED = ("the same", "a row", "float32", "list", "sparse", "fortran", "no rows")
REFUSED = ("fewer columns", "more columns", "a vector", "text", "complex")
# packages of some estimators and forms, which may be absent
OPTIONAL = {"LabelNet": "torch", "GradientBoostingLabels": "xgboost", "polars": "polars"}


class Fit(NamedTuple):
    """One case, which its seed draws."""

    seed: int
    name: str
    shape: tuple[int, int, int]
    values: str
    scale: float
    dtype: str
    labels: str
    x_form: str
    y_form: str
    asked: str

    def __str__(self) -> str:
        shape = " x ".join(map(str, self.shape))
        return (
            f"{self.seed}: {self.name}, {shape}, {self.values} times {self.scale:g} as "
            f"{self.dtype} {self.x_form}, {self.labels} as {self.y_form}, asked for {self.asked}"
        )

    @property
    def case(self) -> Case:
        return _settings()[self.name]

    @property
    def needs(self) -> list[str]:
        """The packages of this case that are not installed."""
        drawn = (self.name, self.x_form, self.y_form)
        needed = {package for name, package in OPTIONAL.items() if name in drawn}
        return sorted(package for package in needed if find_spec(package) is None)


@cache
def cases() -> tuple[str, ...]:
    """The quick settings of all estimators; one number per name, whatever is installed."""
    return tuple(sorted({*_settings(), *(name for name in OPTIONAL if name[0].isupper())}))


@cache
def _settings() -> dict[str, Case]:
    from methods.contract_cases import CASES as PUBLISHED

    found = {}
    for case in (*CASES, *PUBLISHED):
        kind = type(case.estimator).__name__
        if not case.slow:
            found[kind if kind in OPTIONAL else case.name] = case
    return found


def draw(seed: int) -> Fit:
    """The case of a seed: mostly one thing is odd, so that it is not hidden by another."""
    rng = np.random.default_rng(seed)
    fit = Fit(
        seed,
        cases()[seed % len(cases())],
        SHAPES[rng.integers(3, len(SHAPES))],
        "normal",
        1.0,
        "float64",
        "gaps",
        "array",
        "array",
        "the same",
    )
    axes: dict[str, Any] = {
        "shape": SHAPES,
        "values": VALUES,
        "scale": SCALES,
        "dtype": DTYPES,
        "labels": LABELS,
        "x_form": X_FORMS,
        "y_form": Y_FORMS,
        "asked": (*ASKED, *REFUSED),
    }
    odd = rng.choice(list(axes), size=rng.choice([1, 2, 3]), replace=False)
    return fit._replace(**{name: axes[name][rng.integers(len(axes[name]))] for name in odd})


# -- data -----------------------------------------------------------------------------------------


def features(fit: Fit) -> np.ndarray:
    """The numbers, as float64 unless the type has others."""
    rng = np.random.default_rng(fit.seed)
    n, d, _ = fit.shape
    X = rng.standard_normal((n, d))
    X[rng.random(X.shape) < 0.4] = 0
    if fit.values == "counts":
        X = rng.integers(0, 5, X.shape).astype(float)
    elif fit.values == "zeros":
        X[:] = 0
    elif fit.values == "constant column":
        X[:, :1] = 3
    elif fit.values == "equal rows":
        X[:] = X[:1]
    elif fit.values == "few distinct rows":
        X[:] = X[: 2 + n // 8][rng.integers(min(n, 2 + n // 8), size=n)]
    elif fit.values == "equal columns":
        X[:] = X[:, :1]
    elif fit.values == "nearly empty":
        X[rng.random(X.shape) < 0.95] = 0
    elif fit.values == "columns of all sizes":
        X *= 10.0 ** rng.integers(-12, 13, d)
    elif fit.values == "negative zeros":
        X[X == 0] = -0.0
    with np.errstate(all="ignore"):
        X = X * fit.scale
        extra = {"one huge": 1e25, "a nan": np.nan, "an inf": np.inf}.get(fit.values)
        if extra is not None and X.size:
            X[rng.integers(n), rng.integers(d)] = extra
        X = np.abs(X) if fit.dtype.startswith("u") else X
        return X.astype(_number_type(fit.dtype)).astype(np.float64)


def _number_type(dtype: str) -> str:
    return dtype if np.dtype(dtype).kind in "biuf" else "float64"


def encoded_features(fit: Fit, X: np.ndarray) -> Any:
    """The same numbers in the type and form of the case."""
    typed = X.astype(fit.dtype)
    if fit.x_form in SPARSE_FORMS and typed.dtype.kind not in "OUS":
        return _sparse(fit.x_form, typed)
    if fit.x_form == "read-only":
        typed.flags.writeable = False
    names = [f"f{j}" for j in range(X.shape[1])]
    forms: dict[str, Callable] = {
        "fortran": np.asfortranarray,
        "list": lambda X: X.tolist(),
        "pandas": lambda X: pd.DataFrame(X, columns=names),
        "polars": partial(_polars, names),
        "strided": lambda X: np.repeat(np.repeat(X, 2, axis=0), 3, axis=1)[::2, ::3],
        "matrix": np.matrix,
        "memmap": _memmap,
        "nullable": lambda X: pd.DataFrame(X, columns=names).convert_dtypes(),
        "sparse frame": lambda X: pd.DataFrame.sparse.from_spmatrix(
            sparse.csr_array(np.asarray(X, dtype=np.float64)), columns=names
        ),
        "shuffled frame": lambda X: _shuffled(pd.DataFrame(X, columns=names), fit, like=0),
    }
    return forms.get(fit.x_form, lambda X: X)(typed)


def _sparse(form: str, typed: np.ndarray) -> Any:
    if form == "awkward" and typed.dtype == np.float64:
        with np.errstate(all="ignore"):
            return stored_awkwardly(typed)
    if typed.dtype in (np.float16, np.longdouble) or not typed.dtype.isnative:
        typed = typed.astype(np.float64)
    made = {"csr": sparse.csr_matrix, "csc": sparse.csc_array, "coo": sparse.coo_array}
    made |= {"bsr": sparse.bsr_array, "lil": sparse.lil_matrix, "dok": sparse.dok_array}
    made |= {"dia": sparse.dia_array}
    return made.get(form, sparse.csr_array)(typed)


def _polars(names: list[str], values: np.ndarray) -> Any:
    import polars as pl

    columns = np.asarray(values, dtype=np.float64).T
    return pl.DataFrame(dict(zip(names, columns, strict=True))).fill_nan(None)


def _memmap(values: np.ndarray) -> Any:
    if values.dtype == object or not values.size:
        return values
    with tempfile.TemporaryFile() as file:
        mapped = np.memmap(file, dtype=values.dtype, mode="w+", shape=values.shape)
        mapped[:] = values
        return mapped


def _shuffled(frame: pd.DataFrame, fit: Fit, like: int) -> pd.DataFrame:
    """A frame whose index says which row is which; features stay in order, labels do not."""
    frame.index = pd.Index([f"item {i}" for i in range(len(frame))])
    order = np.random.default_rng(fit.seed).permutation(len(frame))
    return frame.iloc[order] if like else frame


def label_matrix(fit: Fit) -> np.ndarray:
    """1, 0 and NaN."""
    rng = np.random.default_rng([fit.seed, 1])
    shape = fit.shape[0], fit.shape[2]
    Y = rng.integers(0, 2, shape).astype(float)
    Y[rng.random(shape) < 0.3] = np.nan
    if fit.labels == "complete":
        Y = np.nan_to_num(Y)
    elif fit.labels in ("all one", "all zero"):
        Y[:] = fit.labels == "all one"
    elif fit.labels == "all unknown":
        Y[:] = np.nan
    elif fit.labels == "one positive":
        Y[:] = 0
        Y[:1, :1] = 1
    elif fit.labels == "one known row":
        Y[1:] = np.nan
    elif fit.labels == "equal labels":
        Y[:] = Y[:, :1]
    elif fit.labels == "opposite labels":
        Y[:, 1::2] = 1 - Y[:, :1]
    elif fit.labels == "one known entry":
        Y.ravel()[1:] = np.nan
    elif fit.labels == "unknown rows":
        Y[::3] = np.nan
    elif fit.labels == "one unknown label":
        Y[:, -1:] = np.nan
    return Y


def encoded_labels(fit: Fit, Y: np.ndarray) -> Any:
    """The same labels in the form of the case."""
    hidden = np.isnan(Y)
    plain = np.nan_to_num(Y).astype(np.int8)
    names = [f"y{j}" for j in range(Y.shape[1])]
    forms: dict[str, Callable] = {
        "object": lambda: np.where(hidden, None, Y),
        "masked": lambda: np.ma.MaskedArray(plain, mask=hidden),
        "signed": lambda: Labels.from_signed(np.where(hidden, 0, 2 * plain - 1)),
        "sparse with mask": lambda: Labels.from_sparse(
            sparse.coo_array(plain), observed=sparse.csr_array(~hidden)
        ),
        "pandas": lambda: pd.DataFrame(Y, columns=names),
        "Int8": lambda: pd.DataFrame(Y, columns=names).astype("Int8"),
        "list": Y.tolist,
        "polars": lambda: _polars(names, Y),
        "boolean": lambda: pd.DataFrame(Y, columns=names).astype("boolean"),
        "float16": lambda: Y.astype(np.float16),
        "fortran": lambda: np.asfortranarray(Y),
        "read-only": lambda: np.frombuffer(Y.tobytes()).reshape(Y.shape),
        "strided": lambda: np.repeat(np.repeat(Y, 2, axis=0), 3, axis=1)[::2, ::3],
        "shuffled frame": lambda: _shuffled(
            pd.DataFrame(Y, columns=names), fit, like=fit.x_form == "shuffled frame"
        ),
    }
    return forms.get(fit.y_form, lambda: Y)()


# -- one case -------------------------------------------------------------------------------------


def run(fit: Fit) -> Outcome:
    """Fit and predict what the case has, compare with the plain encoding, and sort the result."""
    if fit.needs:
        return Outcome("not installed", ", ".join(fit.needs))
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        X = features(fit)
        Y = label_matrix(fit)
        model = outcome_of(lambda: _fitted(fit, encoded_features(fit, X), encoded_labels(fit, Y)))
        if model.kind != "right":
            return model
        found = outcome_of(lambda: _answers(model.value, _rows(fit, X)))
        if found.kind != "right":
            return found
        wrong = _wrong(fit, found.value, X, model.value)
        if wrong is None and is_comparable(fit):
            wrong = _differs(fit, X, Y, found.value)
        return Outcome("right" if wrong is None else "wrong answer", wrong or "")


def _fitted(fit: Fit, X: Any, Y: Any) -> Any:
    # a given start, where there can be one, lest rounding chooses between two
    start = features(fit), label_matrix(fit)
    has_start = fit.case.start is not None and min(fit.shape) > 0 and min(fit.shape[:2]) > 1
    return fresh(fit.case, *(start if has_start else ())).fit(X, Y)


def _answers(model: Any, rows: Any) -> dict[str, np.ndarray]:
    answers = {"predict": model.predict(rows), "scores": model.decision_function(rows)}
    if hasattr(model, "predict_proba"):
        answers["probabilities"] = model.predict_proba(rows)
    return answers


def _rows(fit: Fit, X: np.ndarray) -> Any:
    """What the fitted model is asked about: the rows it saw, in another form."""
    encoded = encoded_features(fit, X)
    forms: dict[str, Callable] = {
        "a row": lambda: encoded[:1] if hasattr(encoded, "shape") else X[:1],
        "float32": lambda: X.astype(np.float32),
        "list": X.tolist,
        "sparse": lambda: sparse.csc_matrix(X),
        "fortran": lambda: np.asfortranarray(X),
        "no rows": lambda: X[:0],
        "fewer columns": lambda: X[:, :-1],
        "more columns": lambda: np.hstack([X, X[:, :1]]),
        "a vector": lambda: X[0],
        "text": lambda: np.where(X[0, 0] == X, "one", "other"),
        "complex": lambda: X + 1j,
    }
    if fit.x_form in ("lil", "dok", "dia", "coo", "bsr") and fit.asked == "a row":
        return X[:1]
    return forms.get(fit.asked, lambda: encoded)()


def _wrong(fit: Fit, answers: dict[str, np.ndarray], X: np.ndarray, model: Any) -> str | None:
    if fit.asked in (*REFUSED, "no rows") and fit.x_form not in FRAMES:
        return f"{fit.asked} was answered"
    if not (np.isfinite(X).all() or model._allow_missing_features or fit.x_form in FRAMES):
        return "fitted to what is no number"
    n = 1 if fit.asked == "a row" else fit.shape[0]
    for name, values in answers.items():
        if np.shape(values) != (n, fit.shape[2]):
            return f"{name} has the shape {np.shape(values)}"
        if not values.size:
            return "answered without labels or rows"
        if np.isnan(values).any():
            return f"{name} holds NaN"
        if name != "scores" and (values.min() < 0 or values.max() > 1):
            return f"{name} goes from {values.min()} to {values.max()}"
    return None


def is_comparable(fit: Fit) -> bool:
    """Whether the plain encoding has the same numbers, and rounding does not decide."""
    is_plain = (fit.x_form, fit.y_form, fit.dtype) == ("array", "array", "float64")
    exact = ("float64", "int8", "int64", "bool", "object", "longdouble", "uint8", "uint64")
    return (
        not is_plain
        and fit.asked in ("the same", "a row", "list", "fortran")
        and fit.dtype in (*exact, "int16", ">f8")
        and 1e-8 <= fit.scale <= 1e8
        and not set(fit.case.exempt)
        & {"check_hidden_values_do_not_matter", "check_encodings_agree"}
        and fit.values not in ("one huge", "columns of all sizes")
        # cells of a frame may be empty, and text stands for categories
        and (fit.x_form not in FRAMES or is_plain_frame(fit))
    )


def is_plain_frame(fit: Fit) -> bool:
    """Whether a frame holds the numbers of a matrix and no more."""
    return fit.dtype == "float64" and fit.values != "a nan"


def _differs(fit: Fit, X: np.ndarray, Y: np.ndarray, answers: dict) -> str | None:
    as_sparse = fit.x_form in (*SPARSE_FORMS, "sparse frame") and accepts_sparse(fit.case)
    if as_sparse and set(SPARSE_DIFFERS) & set(fit.case.exempt):
        X = sparse.csr_array(X)

    def plainly(X: Any) -> dict[str, np.ndarray]:
        model = _fitted(fit, X, Y)
        return _answers(model, X[:1] if fit.asked == "a row" else X)

    plain = outcome_of(lambda: plainly(X))
    if plain.kind != "right":
        return f"the plain encoding fails: {plain.said}"
    difference = _distance(plain.value, answers)
    if difference <= max(1e-4, 10 * fit.case.tolerance):
        return None
    # equal rows, whose neighbors rounding chooses, and equations that hardly have one solution
    rng = np.random.default_rng(0)
    for _ in range(6):
        noise = 1e-9 * max(np.abs(X).max(), fit.scale) * rng.standard_normal(X.shape)
        if sparse.issparse(X):
            noise = sparse.csr_array(noise)
        disturbed = outcome_of(partial(plainly, X + noise))
        if disturbed.kind != "right" or _distance(plain.value, disturbed.value) > difference / 30:
            return None
    return f"answers differ by {difference:.3g} from those of the plain encoding"


def _distance(first: dict[str, np.ndarray], second: dict[str, np.ndarray]) -> float:
    """The largest difference, in units of the largest score where that is more than one."""
    found = [0.0]
    for name in {"scores", "probabilities"} & first.keys():
        size = max(1.0, float(np.abs(first[name]).max()))
        found.append(float(np.abs(first[name] - second[name]).max()) / size)
    return max(found)

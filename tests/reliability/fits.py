"""Cases of fits: every estimator with odd shapes, types, encodings, magnitudes and labels."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from functools import cache, partial
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import polars as pl
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
]
VALUES = (
    "normal",
    "counts",
    "zeros",
    "constant column",
    "equal rows",
    "one huge",
    "a nan",
    "an inf",
)
SCALES = (1.0, 1.0, 1.0, 1e-300, 1e-30, 1e-8, 1e8, 1e15, 1e29, 1e31, 1e150, 1e300, 5e-324)
DTYPES = ("float64", "float64", "float64", "float32", "float16", "int8", "int64", "bool", "object")
DTYPES += ("longdouble", "complex128", "str")
LABELS = ("gaps", "complete", "all one", "all zero", "all unknown", "one positive", "one known row")
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
)
Y_FORMS = ("array", "object", "masked", "signed", "sparse with mask", "pandas", "Int8", "list")


class Fit(NamedTuple):
    """One case, which its seed draws."""

    seed: int
    case: Case
    shape: tuple[int, int, int]
    values: str
    scale: float
    dtype: str
    labels: str
    x_form: str
    y_form: str

    def __str__(self) -> str:
        shape = " x ".join(map(str, self.shape))
        return (
            f"{self.seed}: {self.case.name}, {shape}, {self.values} times {self.scale:g} as "
            f"{self.dtype} {self.x_form}, {self.labels} as {self.y_form}"
        )


@cache
def cases() -> tuple[Case, ...]:
    """The quick settings of all estimators, the published methods among them where installed."""
    found = [case for case in CASES if not case.slow]
    try:
        from methods.contract_cases import CASES as PUBLISHED
    except ImportError:
        return tuple(found)
    return (*found, *(case for case in PUBLISHED if not case.slow))


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
    )
    axes: dict[str, Any] = {
        "shape": SHAPES,
        "values": VALUES,
        "scale": SCALES,
        "dtype": DTYPES,
        "labels": LABELS,
        "x_form": X_FORMS,
        "y_form": Y_FORMS,
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
        X[:, 0] = 3
    elif fit.values == "equal rows":
        X[:] = X[0]
    with np.errstate(all="ignore"):
        X = X * fit.scale
        extra = {"one huge": 1e25, "a nan": np.nan, "an inf": np.inf}.get(fit.values)
        if extra is not None:
            X[rng.integers(n), rng.integers(d)] = extra
        return X.astype(_number_type(fit.dtype)).astype(np.float64)


def _number_type(dtype: str) -> str:
    return dtype if np.dtype(dtype).kind in "biuf" else "float64"


def encoded_features(fit: Fit, X: np.ndarray) -> Any:
    """The same numbers in the type and form of the case."""
    typed = X.astype(fit.dtype)
    if fit.x_form in ("csr", "csc", "coo", "awkward") and typed.dtype.kind not in "OU":
        if fit.x_form == "awkward" and typed.dtype == np.float64:
            with np.errstate(all="ignore"):
                return stored_awkwardly(typed)
        if typed.dtype in (np.float16, np.longdouble):
            typed = X
        made = {"csr": sparse.csr_matrix, "csc": sparse.csc_array, "coo": sparse.coo_array}
        return made.get(fit.x_form, sparse.csr_array)(typed)
    if fit.x_form == "read-only":
        typed.flags.writeable = False
    names = [f"f{j}" for j in range(X.shape[1])]
    forms: dict[str, Callable] = {
        "fortran": np.asfortranarray,
        "list": lambda X: X.tolist(),
        "pandas": lambda X: pd.DataFrame(X, columns=names),
        "polars": lambda X: pl.DataFrame(np.asarray(X, dtype=np.float64), schema=names),
    }
    return forms.get(fit.x_form, lambda X: X)(typed)


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
        Y[0, 0] = 1
    elif fit.labels == "one known row":
        Y[1:] = np.nan
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
    }
    return forms.get(fit.y_form, lambda: Y)()


# -- one case -------------------------------------------------------------------------------------


def run(fit: Fit) -> Outcome:
    """Fit and predict what the case has, compare with the plain encoding, and sort the result."""
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        X = features(fit)
        Y = label_matrix(fit)
        found = outcome_of(lambda: _answers(fit, encoded_features(fit, X), encoded_labels(fit, Y)))
        if found.kind != "right":
            return found
        wrong = _wrong(fit, found.value)
        if wrong is None and is_comparable(fit):
            wrong = _differs(fit, X, Y, found.value)
        return Outcome("right" if wrong is None else "wrong answer", wrong or "")


def _answers(fit: Fit, X: Any, Y: Any) -> dict[str, np.ndarray]:
    # a given start, where there can be one, lest rounding chooses between two
    start = features(fit), label_matrix(fit)
    model = fresh(fit.case, *(start if fit.case.start and min(fit.shape[:2]) > 1 else ()))
    model.fit(X, Y)
    answers = {"predict": model.predict(X), "scores": model.decision_function(X)}
    if hasattr(model, "predict_proba"):
        answers["probabilities"] = model.predict_proba(X)
    return answers


def _wrong(fit: Fit, answers: dict[str, np.ndarray]) -> str | None:
    for name, values in answers.items():
        if np.shape(values) != (fit.shape[0], fit.shape[2]):
            return f"{name} has the shape {np.shape(values)}"
        if np.isnan(values).any():
            return f"{name} holds NaN"
        if name != "scores" and (values.min() < 0 or values.max() > 1):
            return f"{name} goes from {values.min()} to {values.max()}"
    return None


def is_comparable(fit: Fit) -> bool:
    """Whether the plain encoding has the same numbers, and rounding does not decide."""
    is_plain = (fit.x_form, fit.y_form, fit.dtype) == ("array", "array", "float64")
    return (
        not is_plain
        and fit.dtype in ("float64", "int8", "int64", "bool", "object", "longdouble")
        and 1e-8 <= fit.scale <= 1e8
        and not set(fit.case.exempt)
        & {"check_hidden_values_do_not_matter", "check_encodings_agree"}
        and fit.values != "one huge"
        # cells of a frame may be empty, and text stands for categories
        and (fit.x_form not in ("pandas", "polars") or is_plain_frame(fit))
    )


def is_plain_frame(fit: Fit) -> bool:
    """Whether a frame holds the numbers of a matrix and no more."""
    return fit.dtype == "float64" and fit.values != "a nan"


def _differs(fit: Fit, X: np.ndarray, Y: np.ndarray, answers: dict) -> str | None:
    as_sparse = fit.x_form in ("csr", "csc", "coo", "awkward") and accepts_sparse(fit.case)
    if as_sparse and set(SPARSE_DIFFERS) & set(fit.case.exempt):
        X = sparse.csr_array(X)
    plain = outcome_of(lambda: _answers(fit, X, Y))
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
        disturbed = outcome_of(partial(_answers, fit, X + noise, Y))
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

"""Parameters, declared and explained once: defaults, valid values and documentation."""

from __future__ import annotations

import dataclasses
import inspect
import re
import typing
from collections.abc import Callable, Mapping
from numbers import Integral, Real
from types import NoneType, UnionType
from typing import Any, NamedTuple, TypeVar

from sklearn.utils._param_validation import Interval, StrOptions

__all__ = [
    "AT_LEAST_ONE",
    "NOT_NEGATIVE",
    "POSITIVE",
    "SharedParameter",
    "fill_documentation",
    "parameter",
    "with_parameters",
]

AT_LEAST_ONE = Interval(Integral, 1, None, closed="left")
NOT_NEGATIVE = Interval(Real, 0, None, closed="left")
POSITIVE = Interval(Real, 0, None, closed="neither")


class SharedParameter(NamedTuple):
    """What a parameter that many classes or functions have is and means, said once for all.

    Examples
    --------
    >>> from labelgap.parameters import POSITIVE, SharedParameter
    >>> SharedParameter("float", "Weight of the penalty.", [POSITIVE]).type
    'float'
    """

    type: str
    meaning: str
    valid: list | None = None


def parameter(default: Any, *valid: Any) -> Any:
    """Return a parameter of an estimator: its default and its valid values.

    Parameters
    ----------
    default : object
    *valid : constraints in scikit-learn's notation
        When none are given, those of the class's ``_shared_parameters``, or what the annotation
        says: a Literal, bool, None.

    See Also
    --------
    with_parameters : Makes ``__init__`` of them, with an example.
    """
    return dataclasses.field(default=default, metadata={"valid": list(valid)})


def _valid_by(hint: Any) -> list:
    """The valid values that an annotation states."""
    if typing.get_origin(hint) in (UnionType, typing.Union):
        return [valid for part in typing.get_args(hint) for valid in _valid_by(part)]
    if typing.get_origin(hint) is typing.Literal:
        return [StrOptions(set(typing.get_args(hint)))]
    return [{bool: "boolean", NoneType: None}[hint]]


_Class = TypeVar("_Class", bound=type)


@typing.dataclass_transform(eq_default=False)
def with_parameters(estimator: _Class) -> _Class:
    """Write ``__init__``, the constraints and the shared documentation of an estimator's parameters.

    Every parameter is one line of the class, ``name: type = parameter(default, *valid)``; those
    after ``_: KW_ONLY`` are given by name. What the docstring leaves out is filled in from
    ``_shared_parameters``.

    Parameters
    ----------
    estimator : class
        Derived from :class:`sklearn.base.BaseEstimator`.

    See Also
    --------
    LabelGapClassifier : The base of all classifiers.

    Examples
    --------
    >>> from labelgap.estimator import LabelGapClassifier
    >>> from labelgap.parameters import POSITIVE, parameter, with_parameters
    >>> @with_parameters
    ... class Shrunken(LabelGapClassifier):
    ...     alpha: float = parameter(1.0, POSITIVE)
    ...     max_iter: int = parameter(100)
    >>> Shrunken(0.5)
    Shrunken(alpha=0.5)
    """
    dataclasses.dataclass(eq=False, repr=False, match_args=False)(estimator)
    shared: dict[str, SharedParameter] = getattr(estimator, "_shared_parameters", {})
    hints = inspect.get_annotations(estimator, eval_str=True)
    constraints = dict(getattr(estimator, "_parameter_constraints", {}))
    for field in dataclasses.fields(estimator):
        if field.name in hints:  # a parameter of its own
            told = shared.get(field.name)
            valid = field.metadata["valid"] or (told and told.valid)
            constraints[field.name] = valid or _valid_by(hints[field.name])
            delattr(estimator, field.name)  # an attribute of instances alone
    estimator._parameter_constraints = constraints  # type: ignore[attr-defined]
    return fill_documentation(shared)(estimator)


_Documented = TypeVar("_Documented", bound=Callable)


def fill_documentation(
    shared: Mapping[str, SharedParameter],
) -> Callable[[_Documented], _Documented]:
    """Return a decorator that documents the parameters which a docstring leaves out.

    Parameters
    ----------
    shared : mapping from name to SharedParameter

    See Also
    --------
    with_parameters : Does the same for estimators.

    Examples
    --------
    >>> from labelgap.parameters import SharedParameter, fill_documentation
    >>> @fill_documentation({"k": SharedParameter("int", "How many.")})
    ... def best(k=5):
    ...     pass
    >>> print(best.__doc__)
    Parameters
    ----------
    k : int, default=5
        How many.
    """

    def decorate(item: _Documented) -> _Documented:
        doc = inspect.cleandoc(item.__doc__ or "")
        head, title, rest = doc.partition("Parameters\n----------\n")
        if title:
            described, gap, rest = rest.partition("\n\n")
        else:  # before the first section
            head, gap, rest = _split_sections(doc)
            described, title = "", "Parameters\n----------\n"
        places = {name: at for at, name in enumerate(inspect.signature(item).parameters)}
        entries = re.split(r"\n(?=\S)", described) if described else []
        for name, given in inspect.signature(item).parameters.items():
            if name in shared and f"\n{name} : " not in f"\n{described}":
                told = shared[name]
                has_default = given.default is not inspect.Parameter.empty
                default = f", default={given.default!r}" if has_default else ""
                entries.append(f"{name} : {told.type}{default}\n    {told.meaning}")
        if entries:
            entries.sort(key=lambda entry: places.get(re.split("[ ,]", entry)[0], 0))
            item.__doc__ = head + title + "\n".join(entries) + gap + rest
        return item

    return decorate


def _split_sections(doc: str) -> tuple[str, str, str]:
    """The text before the first section, what is between, and the sections."""
    for place in range(len(doc)):
        if doc.startswith("\n---", place):
            start = doc.rfind("\n", 0, place) + 1
            return doc[:start], "\n\n", doc[start:]
    return f"{doc}\n\n" if doc else "", "", ""

"""Small faults for a module: a comparison, a sign, a constant, a condition, one at a time."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

_SWAPS: dict[type, type] = {
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Div,
    ast.Div: ast.Mult,
    ast.And: ast.Or,
    ast.Or: ast.And,
    ast.BitAnd: ast.BitOr,
    ast.BitOr: ast.BitAnd,
}
# their negation is the same fault as the swap of the comparison
_TOLD_BY_SWAP = (ast.Eq, ast.NotEq, ast.Is, ast.IsNot, ast.In, ast.NotIn)


class Mutant(NamedTuple):
    """One fault: the lines of its statement, its function, the code before and after, the tree."""

    lines: range
    function: str
    before: str
    after: str
    tree: ast.Module

    @property
    def words(self) -> str:
        return f"{self.before}  ->  {self.after}"


class _Place(NamedTuple):
    node: ast.AST
    statement: ast.stmt
    function: str
    change: Callable[[], None]


def n_mutants(source: str) -> int:
    """In how many places a module can be changed."""
    return sum(1 for _ in _places(ast.parse(source)))


def mutant(source: str, number: int) -> Mutant:
    """One mutant of a module; the lines of its tree are those of the source."""
    tree = ast.parse(source)
    whole = ast.unparse(tree).splitlines()
    place = list(_places(tree))[number]
    place.change()
    ast.fix_missing_locations(tree)
    changed = ast.unparse(tree).splitlines()
    pairs = zip(whole, changed, strict=False)
    before, after = next(pair for pair in pairs if pair[0] != pair[1])
    return Mutant(_header(place.statement), place.function, before.strip(), after.strip(), tree)


def _header(statement: ast.stmt) -> range:
    """The lines of a statement, without those of its body."""
    last = statement.end_lineno or statement.lineno
    body = getattr(statement, "body", None)
    if body:
        last = max(statement.lineno, body[0].lineno - 1)
    return range(statement.lineno, last + 1)


def _places(tree: ast.Module) -> Iterator[_Place]:
    """Each place with its innermost statement and function ('' at the level of the module)."""
    yield from _inside(tree, tree.body[0], "", "")


def _inside(node: ast.AST, statement: ast.stmt, function: str, scope: str) -> Iterator[_Place]:
    if _is_not_code(node):
        return
    for field, value in ast.iter_fields(node):
        if field in ("annotation", "returns"):
            continue
        if field == "decorator_list":
            value = [one for one in value if "dataclass" not in ast.unparse(one)]
        several = isinstance(value, list)
        for index, child in enumerate(value if several else [value]):
            if not isinstance(child, ast.AST):
                continue
            here = child if isinstance(child, ast.stmt) else statement
            within, inner = function, scope
            if isinstance(child, (ast.FunctionDef, ast.ClassDef)):
                inner = f"{scope}.{child.name}".lstrip(".")
            if isinstance(node, ast.FunctionDef) and field == "body":
                within = scope
            for change in _changes(node, field, index if several else None, child):
                yield _Place(child, here, within, change)
            yield from _inside(child, here, within, inner)


def _is_not_code(node: ast.AST) -> bool:
    """Messages, types, where a warning points and checks of equal length: no test has to notice."""
    if isinstance(node, ast.Raise):
        return True
    if isinstance(node, ast.If):
        return "TYPE_CHECKING" in ast.unparse(node.test)
    return isinstance(node, ast.keyword) and node.arg in ("stacklevel", "strict")


def _changes(
    parent: ast.AST, field: str, index: int | None, node: ast.AST
) -> Iterator[Callable[[], None]]:
    if isinstance(node, ast.Compare) and type(node.ops[0]) in _SWAPS:
        yield _set(node.ops, 0, _SWAPS[type(node.ops[0])]())
    elif isinstance(node, (ast.BinOp, ast.BoolOp)) and type(node.op) in _SWAPS:
        yield _set(node, "op", _SWAPS[type(node.op)]())
    elif isinstance(node, ast.Constant) and type(node.value) in (int, float):
        yield _set(node, "value", node.value + 1)
    elif isinstance(node, ast.Constant) and isinstance(node.value, bool):
        yield _set(node, "value", not node.value)
    elif isinstance(node, ast.UnaryOp) and isinstance(node.op, (ast.Not, ast.USub, ast.Invert)):
        holder = parent if index is None else getattr(parent, field)
        yield _set(holder, field if index is None else index, node.operand)
    elif isinstance(node, (ast.If, ast.IfExp)) and not _is_told(node.test):
        yield _set(node, "test", ast.UnaryOp(ast.Not(), node.test))


def _is_told(test: ast.expr) -> bool:
    if isinstance(test, ast.UnaryOp):
        return isinstance(test.op, ast.Not)
    return isinstance(test, ast.Compare) and isinstance(test.ops[0], _TOLD_BY_SWAP)


def _set(holder: Any, place: Any, value: Any) -> Callable[[], None]:
    if isinstance(holder, list):
        return lambda: holder.__setitem__(place, value)
    return lambda: setattr(holder, place, value)

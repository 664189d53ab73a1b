"""One word for one idea: the words that were replaced do not come back where a user reads them.

``WORDS`` are looked for in identifiers (public names, parameters, options, attributes), ``PHRASES`` in
text (docstrings, messages, help, page templates, README, docs). ``EXCEPTIONS`` say where a word
is something else, and why; an exception that is no longer needed fails too.
"""

from __future__ import annotations

import ast
import importlib
import inspect
import pkgutil
import re
from collections.abc import Iterator
from fnmatch import fnmatch
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import typer

import labelgap
import labelgap_papers
from labelgap.cli._app import app

ROOT = Path(__file__).parents[1]
SOURCES = sorted([*ROOT.glob("src/**/*.py"), *ROOT.glob("papers/src/**/*.py")])
TEMPLATES = sorted(
    path
    for folder in ("src", "papers/src")
    for suffix in ("j2", "js", "html", "toml")
    for path in (ROOT / folder).rglob(f"*.{suffix}")
)
PAGES = sorted(
    path
    for pattern in (
        "*.md",
        "docs/**/*.md",
        "docs/**/*.inc",
        "papers/*.md",
        "papers/reproduction/*.md",
    )
    for path in ROOT.glob(pattern)
    if "_build" not in path.parts
)

# part of an identifier -> what to say
WORDS = {
    "chance": "probability",
    "chances": "probabilities",
    "share": "fraction",
    "shares": "fractions",
    "recorded": "label_frequency",
    "observability": "label_frequency, propensity",
    "exposure": "label_frequency, propensity",
    "look": "label_frequency",
    "ambiguous": "unlabeled",
    "doubt": "unlabeled, or validation",
    "forgotten": "missing",
    "unstated": "unknown",
    "completer": "imputer",
    "completers": "imputers",
    "completed": "imputed",
    "mended": "imputed",
    "unmended": "plain",
    "mending": "mend",
    "guess": "imputed, pseudo-label",
    "guesses": "imputed, pseudo-labels",
    "rounds": "max_iter, n_iter_",
    "trial": "validation, candidate",
    "trials": "candidates",
    "judge": "select",
    "verdict": "validation_, status",
    "verdicts": "statuses",
    "hedge": "ensemble",
    "timid": "underconfident",
    "bold": "overconfident",
    "yardstick": "baseline",
    "yardsticks": "baselines",
    "surest": "most confident",
    "companions": "cooccurring",
    "seldom": "rare",
    "pull": "contribution",
    "pulls": "contributions",
    "ledger": "reproduction",
    "settled": "converged",
    "rows_limit": "max_samples",
}

# text -> what to say
PHRASES = {
    r"\bchances?\b": "probability",
    r"\b(?:the|a|this|its|their) shares?\b|\bshares? of\b": "fraction, rate",
    r"\brecording rates?\b|\blook (?:rates?|weights?)\b|\bfirst rates?\b|\bobservability\b"
    r"|\bexposures?\b": "label frequency, propensity",
    r"\bambiguous\b|\bin doubt\b": "unlabeled",
    r"\bforgotten\b|\bnot looked at\b": "missing",
    r"\bunstated\b": "unknown",
    r"\bcompleters?\b|\bcompleted (?:labels?|entries|matri\w+|targets?)\b": "imputer, imputed",
    r"\b(?:un)?mend(?:s|ed|ing)\b": "imputed; Mend only as the name of the class",
    r"\bguess(?:es|ed)?\b": "imputed, pseudo-labels",
    r"\b(?:each|per|every|first|last|second|one|more|\d+) rounds?\b|\brounds of\b|\bmax_rounds\b": (
        "iterations"
    ),
    r"\btrials?\b|\bverdicts?\b|\bjudge[sd]?\b|\bset aside\b|\bsets aside\b|\bbenefit of the doubt\b": (
        "validation, candidate, held out, status"
    ),
    r"\bhedg\w+\b": "ensemble",
    r"\btimid\w*\b|\bbolder\b|\btoo bold\b|\btoo cautious\b": "overconfident, underconfident",
    r"\byardsticks?\b": "baselines",
    r"\bsurest\b": "most confident, top-scored",
    r"\bcompanions?\b|\bseldom pairs?\b": "co-occurring labels, rare pairs",
    r"\bfeature pulls?\b|\bpulls towards\b": "contribution",
    r"\bledgers?\b": "reproduction results",
    r"\bno worse than\b|\bnot unlike\b|\bbe it said\b|\bwhat is said of\b": "say it directly",
}

# (file, word or piece of the matching text, reason); a file pattern may end in *
EXCEPTIONS: list[tuple[str, str, str]] = [
    (
        "papers/src/labelgap_papers/methods/_expomf.py",
        "exposure",
        "the name and title of the method",
    ),
    (
        "*bmlpl*",
        "exposure",
        "in BMLPL the part of a topic on known labels, which is no probability of being recorded",
    ),
    ("src/labelgap/cli/*", "bold", "a typeface"),
    ("src/labelgap/plots/*", "bold", "a typeface"),
    ("papers/src/labelgap_papers/bench/*", "bold", "a typeface"),
    ("src/labelgap/cli/*", "recorded", "the labels that are recorded, and their number"),
]

# rooms that still have their old names; this list only gets shorter
NOT_YET: list[str] = []

# (public name or pattern, parameter): why the word is right there
PARAMETERS_KEPT: dict[tuple[str, str], str] = {
    ("labelgap.fitting.draw_chains", "seed"): "an integer from which blocks make generators",
    ("labelgap.fitting.run_gibbs", "seed"): "an integer from which blocks make generators",
    ("labelgap*.Mend", "groups"): "rows that stay together, as in scikit-learn",
    ("labelgap.imputers.draw_folds", "groups"): "rows that stay together, as in scikit-learn",
    ("labelgap.model_selection.*", "groups"): "scikit-learn's word for rows that stay together",
    ("labelgap.export.LinearForm", "intercept"): "the fitted intercepts, not whether to fit them",
    ("labelgap_papers.methods.GLOCAL", "groups"): "the paper's groups of samples, not of columns",
}


def name_of(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


def pieces(identifier: str) -> list[str]:
    """The lower-case parts of a snake_case or CamelCase name."""
    return [part.lower() for part in re.findall(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])", identifier)]


def identifiers(tree: ast.AST) -> Iterator[tuple[int, str]]:
    """Names of classes, functions, parameters, fields and attributes that a user may write."""
    for node in ast.walk(tree):
        if isinstance(node, (ast.ClassDef, ast.FunctionDef)):
            yield node.lineno, node.name
        elif isinstance(node, ast.arg):
            yield node.lineno, node.arg
        elif isinstance(node, ast.Attribute) and node.attr.endswith("_"):
            yield node.lineno, node.attr
        elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            yield node.lineno, node.target.id


def strings(tree: ast.AST) -> Iterator[tuple[int, str]]:
    """Docstrings, messages and option values."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.lineno, node.value


@cache
def parsed(path: Path) -> ast.AST:
    return ast.parse(path.read_text(encoding="utf-8"))


def old_in_text(text: str) -> Iterator[tuple[int, str, str]]:
    """Line (from 0), piece and better word of every old phrase."""
    flat = re.sub(r"\s", " ", text)
    for pattern, better in PHRASES.items():
        for match in re.finditer(pattern, flat, re.IGNORECASE):
            before = flat[max(0, match.start() - 8) : match.start()].lower()
            if match.group().lower() == "chance" and re.search(
                r"\b(by|to|than|beyond|within) $", before
            ):
                continue  # plain English: randomness, as in "by chance"
            yield text.count("\n", 0, match.start()), match.group(), better


def findings(path: Path) -> Iterator[tuple[int, str, str]]:
    """Line, old word and better word, before exceptions."""
    if path.suffix != ".py":
        for line, piece, better in old_in_text(path.read_text(encoding="utf-8")):
            yield line + 1, piece, better
        return
    for line, identifier in identifiers(parsed(path)):
        for piece in pieces(identifier):
            if piece in WORDS:
                yield line, identifier, WORDS[piece]
    for line, text in strings(parsed(path)):
        if re.fullmatch(r"[\w-]+", text):  # keys, columns, names of options
            found = [piece for piece in pieces(text) if piece in WORDS]
            yield from ((line, text, WORDS[piece]) for piece in found)
            continue
        for offset, piece, better in old_in_text(text):
            yield line + offset, piece, better


def excepted(path: Path, piece: str) -> bool:
    return any(
        fnmatch(name_of(path), pattern) and word.lower() in piece.lower()
        for pattern, word, _ in EXCEPTIONS
    )


def unexcused(path: Path) -> list[str]:
    return [
        f"{name_of(path)}:{line}: {piece!r}, say: {better}"
        for line, piece, better in findings(path)
        if not excepted(path, piece)
    ]


def test_no_old_words():
    found = [
        line
        for path in [*SOURCES, *TEMPLATES, *PAGES]
        if not any(fnmatch(name_of(path), pattern) for pattern in NOT_YET)
        for line in unexcused(path)
    ]
    assert not found, "\n".join(found)


def test_every_exception_is_needed():
    unused = [
        f"{pattern}: {word!r}"
        for pattern, word, _ in EXCEPTIONS
        if not any(
            word.lower() in piece.lower()
            for path in [*SOURCES, *TEMPLATES, *PAGES]
            if fnmatch(name_of(path), pattern)
            for _, piece, _ in findings(path)
        )
    ]
    assert not unused, f"remove what is no longer there: {unused}"


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("the chance of rain", "probability"),
        ("found by chance", None),
        ("a share of it", "fraction, rate"),
        ("labels share a factor", None),
        ("three rounds of it", "iterations"),
        ("it rounds to 3", None),
    ],
)
def test_an_old_word_is_found(text, says):
    assert [better for _, _, better in old_in_text(text)] == ([] if says is None else [says])


# -- option values ------------------------------------------------------------------------------


def option_values(tree: ast.AST) -> Iterator[tuple[int, str]]:
    """What ``StrOptions({...})`` and ``Literal[...]`` offer."""
    for node in ast.walk(tree):
        called = isinstance(node, ast.Call) and ast.unparse(node.func).endswith("StrOptions")
        literal = isinstance(node, ast.Subscript) and ast.unparse(node.value).endswith("Literal")
        if called or literal:
            for part in ast.walk(node):
                if isinstance(part, ast.Constant) and isinstance(part.value, str):
                    yield part.lineno, part.value


def test_option_values_are_single_words_of_the_vocabulary():
    found = [
        f"{name_of(path)}:{line}: {value!r}"
        for path in SOURCES
        if not any(fnmatch(name_of(path), pattern) for pattern in NOT_YET)
        for line, value in option_values(parsed(path))
        if " " in value or any(piece in WORDS for piece in pieces(value))
        if not excepted(path, value)
    ]
    assert not found, "\n".join(found)


# -- parameters of public classes and functions --------------------------------------------------

PARAMETERS = {
    "classifier": "estimator",
    "intercept": "fit_intercept",
    "groups": "views",
    "rounds": "max_iter",
    "seed": "random_state",
    "n_rows": "n_samples",
    "c": "label_frequency",
}


def public() -> Iterator[tuple[str, object]]:
    """Public classes and functions of both distributions, by the name a user imports."""
    for package in (labelgap, labelgap_papers):
        modules = [
            package.__name__,
            *(m.name for m in pkgutil.walk_packages(package.__path__, package.__name__ + ".")),
        ]
        for module in modules:
            if any(part.startswith("_") for part in module.split(".")):
                continue
            loaded = importlib.import_module(module)
            for name in getattr(loaded, "__all__", ()):
                item = getattr(loaded, name)
                if inspect.isclass(item) or inspect.isfunction(item):
                    yield f"{module}.{name}", item


def test_parameters_have_the_words_of_the_field():
    found = set()
    for name, item in public():
        callables = [item] if inspect.isfunction(item) else [item.__init__, *vars(item).values()]
        for function in filter(inspect.isfunction, callables):
            if function.__name__.startswith("_") and function.__name__ != "__init__":
                continue
            for parameter in inspect.signature(function).parameters:
                kept = any(
                    fnmatch(name, pattern) and parameter == word
                    for pattern, word in PARAMETERS_KEPT
                )
                if parameter in PARAMETERS and not kept:
                    found.add(f"{name}: {parameter}, say: {PARAMETERS[parameter]}")
    assert not found, "\n".join(sorted(found))


# -- the command line ----------------------------------------------------------------------------


def commands(command: Any, path: str = "labelgap") -> Iterator[tuple[str, Any]]:
    yield path, command
    for name, inner in getattr(command, "commands", {}).items():
        loaded = inner.load() if hasattr(inner, "load") else inner
        yield from commands(loaded, f"{path} {name}")


def test_the_command_line_has_no_old_words():
    found = []
    for path, command in commands(typer.main.get_command(app)):
        texts = [command.help or "", command.epilog or ""]
        for parameter in command.params:
            texts += [getattr(parameter, "help", None) or "", " ".join(parameter.opts)]
            kind = getattr(parameter, "type", None)
            texts += [str(choice) for choice in getattr(kind, "choices", ())]
        for text in texts:
            found += [f"{path}: {piece!r}, say: {better}" for _, piece, better in old_in_text(text)]
            found += [
                f"{path}: {option!r}, say: {WORDS[piece]}"
                for option in re.findall(r"--[a-z-]+", text)
                for piece in option.split("-")
                if piece in WORDS
            ]
    assert not found, "\n".join(found)

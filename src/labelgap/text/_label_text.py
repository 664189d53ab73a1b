"""The text of a label: what the user gives, and else its name."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from labelgap.labels import Labels
from labelgap.labels.states import is_missing

_ALTERNATIVES = re.compile(r"\s*[/|;,]\s*")
_JOINTS = re.compile(r"[-_:.+]+|(?<=[a-z])(?=[A-Z])")
WORD = re.compile(r"\w+")


def words_of_name(name: Any) -> list[str]:
    """Return the alternatives that a label's name consists of, as lower-case words.

    Parameters
    ----------
    name : object
        ``"Date / Time"`` has two alternatives, ``"game::real-time"`` one of three words.

    Examples
    --------
    >>> from labelgap.text import words_of_name
    >>> words_of_name("Date / Time"), words_of_name("game::real-time"), words_of_name("drumKit")
    (['date', 'time'], ['game real time'], ['drum kit'])
    """
    parts = _ALTERNATIVES.split(str(name))
    plain = [" ".join(WORD.findall(_JOINTS.sub(" ", part))).lower() for part in parts]
    return [part for part in plain if part] or [str(name).strip().lower()]


def label_texts(
    labels: Labels, label_text: Sequence[str] | Mapping[Any, str] | None = None
) -> list[str]:
    """Return one text per label: the one given, the one that the labels have, or the name.

    Parameters
    ----------
    labels : Labels
    label_text : sequence of n_labels texts, or mapping from names to texts, default=None
        A label that a mapping lacks keeps its own text. None takes those of
        :meth:`labelgap.Labels.with_text`, and names where there are none.

    Returns
    -------
    list of str

    Examples
    --------
    >>> from labelgap import Labels
    >>> from labelgap.text import label_texts
    >>> labels = Labels.from_dense([[1, 0]], names=["game::board", "use::chat"])
    >>> label_texts(labels)
    ['game board', 'use chat']
    >>> label_texts(labels, {"use::chat": "Talking to other people"})
    ['game board', 'Talking to other people']
    """
    own = labels.texts
    texts: Sequence[str | None] = [None] * labels.n_labels
    if isinstance(label_text, Mapping):
        known = [] if labels.names is None else list(labels.names)
        texts = [label_text.get(name, None) for name in known]
        if not any(text is not None for text in texts):
            raise ValueError(
                "label_text is a mapping without the name of any label; its keys must be "
                "names of labels" + (f" such as {known[0]!r}" if len(known) else "")
            )
    elif label_text is not None:
        texts = check_texts(label_text, labels.n_labels, "label_text", "label")
    if own is not None:
        texts = [own[k] if text is None else text for k, text in enumerate(texts)]
    if labels.names is None and any(text is None for text in texts):
        raise ValueError(
            "labels have neither names nor texts: give label_text, or names with Labels.with_names"
        )
    return [
        ", ".join(words_of_name(labels.names[k])) if text is None else str(text)  # type: ignore[index]
        for k, text in enumerate(texts)
    ]


def check_texts(texts: Any, n_wanted: int, argument: str, of_what: str) -> list[str]:
    """Return texts as a list of strings, a missing one empty; refuse another number of them.

    Parameters
    ----------
    texts : sequence of str
    n_wanted : int
    argument, of_what : str
        Their name and what each belongs to, for the message.

    Examples
    --------
    >>> from labelgap.text import check_texts
    >>> check_texts(["a", None], 2, "item_text", "item")
    ['a', '']
    """
    if isinstance(texts, str) or not hasattr(texts, "__len__"):
        raise TypeError(f"{argument} must be a sequence of texts, one per {of_what}")
    values = list(np.asarray(texts, dtype=object).ravel())
    if len(values) != n_wanted:
        raise ValueError(
            f"{argument} has {len(values)} texts for {n_wanted} {of_what}s: give one per {of_what}"
        )
    return ["" if is_missing(value) else str(value) for value in values]

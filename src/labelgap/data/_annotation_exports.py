"""Exports of Label Studio and Argilla as tables, and suggestions as pre-annotations in their formats."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from labelgap.data._contents import shown_damage
from labelgap.files import replacing

_MODEL = "labelgap"
Suggested = Mapping[str, Sequence[tuple[str, float]]]


def flat_records(records: list[dict]) -> tuple[list[dict], str | None]:
    """Return one flat record per item, and the tool that wrote them; None for plain records."""
    tool = _tool_of(records)
    if tool is None:
        return records, None
    read, columns_of = _FORMATS[tool]
    columns = {name: None for record in records for name in columns_of(record)}
    return [read(record, list(columns)) for record in records], tool


def _tool_of(records: list[dict]) -> str | None:
    if not records:
        return None
    first = records[0]
    if isinstance(first.get("data"), dict) and ("annotations" in first or "predictions" in first):
        return "Label Studio"
    if isinstance(first.get("fields"), dict) and ("responses" in first or "suggestions" in first):
        return "Argilla"
    return None


def _of_label_studio(task: dict, controls: list[str]) -> dict:
    """The data of a task, and a list of choices per control; None where nobody annotated it."""
    flat = {"id": task.get("id"), **task["data"]}
    stated: dict[str, set] = {}
    for annotation in task.get("annotations") or []:
        if annotation.get("was_cancelled"):
            continue
        for result in annotation.get("result") or []:
            choices = result.get("value", {}).get("choices")
            if choices is not None:
                stated.setdefault(result.get("from_name", "choices"), set()).update(choices)
    # who annotates a task and picks nothing says that nothing applies
    done = any(not one.get("was_cancelled") for one in task.get("annotations") or [])
    return flat | {name: sorted(stated.get(name, ())) if done else None for name in controls}


def _controls(task: dict) -> list[str]:
    found = {
        result.get("from_name", "choices"): None
        for source in ("annotations", "predictions")
        for one in task.get(source) or []
        for result in one.get("result") or []
        if "choices" in result.get("value", {})
    }
    return list(found)


def _of_argilla(record: dict, questions: list[str]) -> dict:
    """The fields of a record, and a list of labels per question; None where nobody answered it."""
    flat = {"id": record.get("id"), **record["fields"]}
    answers = record.get("responses") or {}
    for question in questions:
        given = [
            answer.get("value")
            for answer in answers.get(question) or []
            if answer.get("status", "submitted") == "submitted"
        ]
        values = {tag for value in given for tag in ([value] if isinstance(value, str) else value)}
        flat[question] = sorted(values) if given else None
    return flat


def _questions(record: dict) -> list[str]:
    return [*(record.get("responses") or {}), *(record.get("suggestions") or {})]


_FORMATS = {
    "Label Studio": (_of_label_studio, _controls),
    "Argilla": (_of_argilla, _questions),
}


def write_preannotations(source: Any, suggestions: Suggested, column: str, out: Any) -> Path:
    """Write suggestions into an export of Label Studio or Argilla, to import as pre-annotations.

    Parameters
    ----------
    source : path
        The export that the table was read from.
    suggestions : mapping from id to a sequence of (label, probability)
    column : str
        The control of Label Studio, or the question of Argilla, that holds the labels.
    out : path
        The JSON file to write.

    Returns
    -------
    Path
        The file.

    See Also
    --------
    read_table : Reads the export.

    Examples
    --------
    >>> import json, tempfile
    >>> from pathlib import Path
    >>> from labelgap.data import write_preannotations
    >>> folder = tempfile.TemporaryDirectory()
    >>> source, out = Path(folder.name, "tasks.json"), Path(folder.name, "new.json")
    >>> _ = source.write_text(json.dumps([{"id": 7, "data": {"text": "hi"}, "annotations": []}]))
    >>> _ = write_preannotations(source, {"7": [("greeting", 0.9)]}, "topic", out)
    >>> json.loads(out.read_text())[0]["predictions"][0]["score"]
    0.9
    >>> folder.cleanup()
    """
    path = Path(source)
    remedy = "Give the JSON file that the tool exported"
    with shown_damage("export of Label Studio or Argilla", path, remedy):
        text = path.read_text(encoding="utf-8")
        lines = path.suffix.lower() in (".jsonl", ".ndjson")
        one_by_one = (line for line in text.splitlines() if line.strip())
        records = [json.loads(line) for line in one_by_one] if lines else json.loads(text)
        tool = _tool_of(records)
        if tool is None:
            raise ValueError("neither of them writes such records")
        write = _to_label_studio if tool == "Label Studio" else _to_argilla
        to_name = _to_name(records, column)
        made = [
            write(record, suggestions[str(record.get("id"))], column, to_name)
            for record in records
            if suggestions.get(str(record.get("id")))
        ]
        content = json.dumps(made, indent=1, ensure_ascii=False).encode() + b"\n"
    with replacing(Path(out)) as (partial,):
        partial.write_bytes(content)
    return Path(out)


def _to_name(records: list[dict], column: str) -> str:
    """What the control is about: as in the annotations that there are, or the first of the data."""
    for record in records:
        for annotation in record.get("annotations") or []:
            for result in annotation.get("result") or []:
                if result.get("from_name") == column and result.get("to_name"):
                    return result["to_name"]
    return next(iter(records[0].get("data", {})), "text")


def _to_label_studio(task: dict, labels: Sequence, column: str, to_name: str) -> dict:
    choices = [label for label, _ in labels]
    result = {
        "from_name": column,
        "to_name": to_name,
        "type": "choices",
        "value": {"choices": choices},
    }
    score = max(probability for _, probability in labels)
    prediction = {"model_version": _MODEL, "score": score, "result": [result]}
    return {"id": task.get("id"), "data": task["data"], "predictions": [prediction]}


def _to_argilla(record: dict, labels: Sequence, column: str, to_name: str) -> dict:
    suggestion = {
        "value": [label for label, _ in labels],
        "score": [probability for _, probability in labels],
        "agent": _MODEL,
    }
    return {
        "id": record.get("id"),
        "fields": record["fields"],
        "suggestions": {column: suggestion},
    }

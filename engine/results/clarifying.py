"""What a person answers to a question back, written into the pipeline: that question alone is asked anew.

The text of the pipeline is kept but for the key `clarified` of the question, or `clarified_for` where it is said for
one document alone. All other prompts stay as they were, so their replies come from the case.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from engine.errors import UsageError
from engine.language.pipeline_edit import OPERATIONS
from engine.language.position import did_you_mean
from engine.language.yaml_edit import remove, set_value
from engine.language.yaml_reader import read_yaml
from engine.loader import parse_pipeline
from engine.results.shown import LONGEST_SAID
from storage.export.atomic import replacing


def clarify(file: Path, operator: str, question: str, said: str, document: str = "") -> None:
    """Say in a pipeline file what a question means: `question` is its name, `said` empty takes that back.

    `document` is the file name of the one document for which it is said, "" for all. Raises
    UsageError for a question that is not there or too much text, PipelineError, ExportError or DiskFull.
    """
    text = clarified_text(file.read_text(encoding="utf-8-sig"), operator, question, " ".join(said.split()), document)
    parse_pipeline(text, file=str(file), directory=file.parent)
    with replacing(file) as path:
        path.write_text(text, encoding="utf-8")


def clarified_text(text: str, operator: str, question: str, said: str, document: str = "") -> str:
    """Return the text of a pipeline with what a question means; raises UsageError or PipelineError."""
    if len(said) > LONGEST_SAID:
        raise UsageError(f"{len(said)} characters are too long", advice=f"Say it in {LONGEST_SAID} characters.")
    root, _ = read_yaml(text)
    operations = [operation for operation in root.get(OPERATIONS) or [] if isinstance(operation, Mapping)]
    names = [str(operation.get("name", "")) for operation in operations]
    if operator not in names:
        raise UsageError(f"the pipeline has no operator {operator!r}", advice=did_you_mean(operator, names))
    index = names.index(operator)
    if "question" in operations[index]:
        text = _as_list(text, index, operations[index]["question"])
        root, _ = read_yaml(text)
    asked: list[Mapping[str, Any]] = root[OPERATIONS][index].get("questions") or []
    known = [str(entry.get("name", "answer")) for entry in asked]
    if question not in known:
        raise UsageError(f"{operator} has no question {question!r}", advice=did_you_mean(question, known))
    place = known.index(question)
    entry = asked[place]
    key: tuple[str, ...] = ("clarified_for", document) if document else ("clarified",)
    path: tuple[str | int, ...] = (OPERATIONS, index, "questions", place, *key)
    if said:
        return set_value(text, path, said)
    is_there = document in (entry.get("clarified_for") or {}) if document else "clarified" in entry
    return remove(text, path, floor=4) if is_there else text


def _as_list(text: str, index: int, question: Any) -> str:
    """Write `question: What ...?` as a list of one question, which writes the same fields and can say more."""
    text = set_value(text, (OPERATIONS, index, "questions"), [{"name": "answer", "question": question}])
    return remove(text, (OPERATIONS, index, "question"))

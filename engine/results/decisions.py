"""Decisions of a person, written into a pipeline: pairs of names (`same_as`, `keep_apart`), what questions mean.

The text of the pipeline is kept but for these keys: comments and layout are its author's. All prompts but those of a
question that is answered stay as they were, so their replies come from the case.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from engine.disk import questions_folder
from engine.errors import PipelineError, UsageError
from engine.language.pipeline_edit import OPERATIONS, set_key
from engine.language.position import did_you_mean
from engine.language.writer import to_yaml
from engine.language.yaml_reader import read_yaml
from engine.loader import load_pipeline, parse_pipeline
from engine.results.same_question import KINDS, question_text
from engine.results.shown import LONGEST_SAID, NamePair, PairKind
from storage.case import Case
from storage.export.atomic import replacing


def pipeline_of(case: Case, run_id: str) -> Path:
    """Find the pipeline beside the case that a run was made from; write it if there is none.

    Later decisions of a person make no difference (pairs of names, what questions mean: `clarified`), nor does the
    choice of documents of the case, by mark, by words or by name.

    Raises ExportError or DiskFull when it cannot be written.
    """
    text = case.runs.get(run_id).pipeline_yaml
    folder = questions_folder(case.path)
    wanted = question_text(text)
    for file in sorted(folder.glob("*.yaml")) if folder.is_dir() else ():
        try:
            plan = load_pipeline(file).plan
        except PipelineError:
            continue  # half-written by its author: it is no pipeline that has run
        if question_text(to_yaml(plan)) == wanted:
            return file
    folder.mkdir(exist_ok=True)
    file = _free(folder, f"run {run_id}")
    _write(file, text)
    return file


def write_pairs(file: Path, operator: str, kind: PairKind, pairs: Iterable[NamePair]) -> None:
    """Add pairs to an operator of a pipeline file, and take them out of the other kind.

    Raises UsageError for an operator that is not there, PipelineError when the file is none, ExportError or DiskFull.
    """
    text = file.read_text(encoding="utf-8-sig")
    root, _ = read_yaml(text)
    names = [str(operation.get("name", "")) for operation in root.get(OPERATIONS) or []]
    if operator not in names:
        raise UsageError(f"{file.name} has no operator {operator!r}", advice="Choose the pipeline of this run.")
    index = names.index(operator)
    other = KINDS[1 - KINDS.index(kind)]
    held, against = (_pairs(root[OPERATIONS][index], each) for each in (kind, other))
    wanted = list(pairs)
    new = [pair for pair in wanted if not _has(held, pair)]
    kept = [pair for pair in against if not _has(wanted, pair)]
    if new:
        text = set_key(text, index, (kind,), [list(pair) for pair in (*held, *new)])
    if kept != against:
        text = set_key(text, index, (other,), [list(pair) for pair in kept] or None)
    _write_checked(file, text)


def clarify(file: Path, operator: str, question: str, said: str, document: str = "") -> None:
    """Say in a pipeline file what a question means: `question` is its name, `said` empty takes that back.

    `document` is the file name of the one document for which it is said, "" for all. Raises
    UsageError for a question that is not there or too much text, PipelineError, ExportError or DiskFull.
    """
    text = file.read_text(encoding="utf-8-sig")
    _write_checked(file, clarified_text(text, operator, question, " ".join(said.split()), document))


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
    if "question" in operations[index]:  # as a list of one question it writes the same fields and can say more
        alone = [{"name": "answer", "question": operations[index]["question"]}]
        text = set_key(set_key(text, index, ("questions",), alone), index, ("question",), None)
        root, _ = read_yaml(text)
    asked: list[Mapping[str, Any]] = root[OPERATIONS][index].get("questions") or []
    known = [str(entry.get("name", "answer")) for entry in asked]
    if question not in known:
        raise UsageError(f"{operator} has no question {question!r}", advice=did_you_mean(question, known))
    key = ("clarified_for", document) if document else ("clarified",)
    return set_key(text, index, ("questions", known.index(question), *key), said or None)


def _has(pairs: Iterable[NamePair], pair: NamePair) -> bool:
    return any(set(pair) == set(other) for other in pairs)


def _pairs(operation: Mapping[str, Any], kind: PairKind) -> list[NamePair]:
    return [(str(left), str(right)) for left, right in operation.get(kind) or ()]


def _free(folder: Path, stem: str) -> Path:
    names = (folder / f"{stem}{f' ({number})' if number else ''}.yaml" for number in range(1000))
    return next(name for name in names if not name.exists())


def _write_checked(file: Path, text: str) -> None:
    parse_pipeline(text, file=str(file), directory=file.parent)
    _write(file, text)


def _write(file: Path, text: str) -> None:
    with replacing(file) as path:
        path.write_text(text, encoding="utf-8")

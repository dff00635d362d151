"""What a run answered about one row: each question with its items, where they stand, and what to know of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from engine.answers.telling import question_back
from engine.loader import parse_pipeline
from engine.operators.answer.node import FILENAME, Answer, AskedQuestion
from engine.results.shown import ShownAnswer, ShownItem
from engine.results.table import result_view
from engine.results.values import shown
from storage.case import Case
from storage.evidence import EvidenceRecord
from storage.runs import Runs

MOST_ITEMS = 200
MOST_CHARACTERS = 2000
KEPT_PIPELINES = 8


@dataclass(frozen=True, slots=True)
class QuestionColumn:
    """A question of a run: the operator that asked it, and the field that its answer is in."""

    operator: str
    name: str
    question: str
    asked: AskedQuestion

    @property
    def columns(self) -> tuple[str, ...]:
        """Return the columns that say something of the answer, the answer first."""
        return (self.name, f"{self.name}_status", f"{self.name}_note", f"{self.name}_items")


def question_columns(runs: Runs, run_id: str) -> tuple[QuestionColumn, ...]:
    """List the questions that the operators `answer` of a run asked, in their order; the last of one name counts."""
    return _questions(runs.get(run_id).pipeline_yaml)


@lru_cache(maxsize=KEPT_PIPELINES)
def _questions(pipeline_yaml: str) -> tuple[QuestionColumn, ...]:
    plan = parse_pipeline(pipeline_yaml).plan
    nodes = [node for step in plan.steps for node in plan.nodes(step) if isinstance(node, Answer)]
    columns = {
        asked.name: QuestionColumn(node.name, asked.name, asked.question.text.strip(), asked)
        for node in nodes
        for asked in node.asked
    }
    return tuple(columns.values())


def answers_of(case: Case, run_id: str, row_id: str) -> tuple[ShownAnswer, ...]:
    """Return the answers of one row of the results, in the order of the questions.

    A question whose fields a later operator took away is left out. Raises NotInCase, or ExportError while the run has
    no results.
    """
    (number,) = case.result_rows.numbers(run_id, [row_id])
    view = result_view(case, run_id)
    row, values = view.rows[number], view.values[number]
    return tuple(
        _answer(asked, values, row.documents, case.evidence.of_row(run_id, row_id, f"{asked.name}_items"))
        for asked in question_columns(case.runs, run_id)
        if isinstance(values.get(f"{asked.name}_items"), list) and f"{asked.name}_status" in values
    )


def _answer(
    asked: QuestionColumn, values: Mapping[str, Any], documents: Sequence[str], evidence: Sequence[EvidenceRecord]
) -> ShownAnswer:
    items = [item for item in values[f"{asked.name}_items"] if isinstance(item, Mapping)]
    alone = documents[0] if len(documents) == 1 else ""
    shown_items = [
        _item(item, _document(evidence, f"{asked.name}_items[{n}]") or alone)
        for n, item in enumerate(items[:MOST_ITEMS])
    ]
    return ShownAnswer(
        operator=asked.operator,
        name=asked.name,
        question=asked.question,
        clarified=asked.asked.clarified_in(values),
        value=_cut(shown(values.get(asked.name))),
        status=str(values[f"{asked.name}_status"] or ""),
        note=_cut(str(values.get(f"{asked.name}_note") or "")),
        question_back=question_back(values[f"{asked.name}_status"], values.get(f"{asked.name}_note")),
        items=tuple(shown_items),
        count=len(items),
        document_name=str(values.get(FILENAME) or "") if alone else "",
    )


def _document(evidence: Sequence[EvidenceRecord], path: str) -> str:
    inside = (
        record.document_id
        for record in evidence
        if record.path == path or record.path.startswith((f"{path}.", f"{path}["))
    )
    return next((document for document in inside if document), "")


def _item(item: Mapping[str, Any], document: str) -> ShownItem:
    lines, written = _lines(item.get("lines")), item.get("page")
    page = written if isinstance(written, int) else 0
    first, last = lines[0] if lines else (0, 0)
    return ShownItem(
        value=_cut(shown(item.get("value"))),
        original=_cut(str(item.get("original") or "")),
        method=str(item.get("method") or ""),
        problem=str(item.get("problem") or ""),
        snippet=_cut(str(item.get("snippet") or "")),
        lines=lines,
        document=document if page and lines else "",
        page=page,
        first_line=first,
        last_line=last,
    )


def _lines(pairs: Any) -> tuple[tuple[int, int], ...]:
    """Return first and last lines; a person who corrects the items may have typed anything there."""
    if not isinstance(pairs, list | tuple):
        return ()
    known = [pair for pair in pairs if isinstance(pair, list | tuple) and len(pair) == 2]
    return tuple((first, last) for first, last in known if isinstance(first, int) and isinstance(last, int))


def _cut(text: str) -> str:
    return text if len(text) <= MOST_CHARACTERS else f"{text[:MOST_CHARACTERS]}…"

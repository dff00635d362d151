"""Try a pipeline on a few documents, up to one of its operators, and keep everything that was asked and answered.

A trial runs in a case of its own, into which the documents are copied, so it is no run of the person's case. Replies
are looked up and kept in the person's case: what a trial asked is not asked again by the next trial or by the run.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from engine.ask.pipeline import table_of
from engine.documents.document import Document, Line
from engine.errors import PipelineError, UsageError
from engine.executor.asking import CachedAsk
from engine.executor.case_documents import load_document, save_document
from engine.executor.datasets import wanted_documents
from engine.executor.events import Emit
from engine.executor.run import RunOptions, refuse_problems, run_pipeline
from engine.executor.settings import RunSettings
from engine.language.trust import refuse_untrusted
from engine.loader import Loaded, parse_pipeline
from engine.plan.plan import Dataset, Output, Plan, Step
from engine.plan.sources import kind_of_source
from engine.rows import DocumentId
from engine.text.ranking import rank_by_text
from engine.worker.allowed import note_allowed
from engine.worker.commands import TryCommand
from engine.worker.contract.events import Tried, TriedLine
from engine.worker.crossings import refuse_crossings
from engine.worker.jobs import NewModels
from engine.worker.model_choice import settled
from engine.worker.trial_items import AskedOf, TriedItem, tried_items
from models.protocol import ModelBackend, Reply, Request
from storage import passphrases
from storage.cache import Cache
from storage.case import Case
from storage.replies import Replies

DOCUMENTS = 3
"""Documents of a trial where none were chosen."""
_ITEMS = "trial"
"""Of the values of a trial's case that hold its items, by number."""


async def try_pipeline(
    order: TryCommand,
    settings: RunSettings,
    kept: Path,
    new_models: NewModels,
    emit: Emit,
    gated: Callable[[ModelBackend], ModelBackend],
) -> Tried:
    """Run a trial with the settings of its order, in a new case at `kept`; its items are kept there, too.

    Of an encrypted case that one is encrypted with the same passphrase. Raises what a run raises.
    """
    models = new_models()
    models.apply(settings)
    directory = order.directory or order.case.parent
    loaded = parse_pipeline(order.text, directory=directory, allowed=settings.allow_paths)
    if settings.include_hidden:
        loaded = replace(loaded, plan=loaded.plan.including_hidden())
    if order.until:
        loaded = replace(loaded, plan=up_to(loaded.plan, order.until))
    refuse_problems(loaded)
    refuse_untrusted(loaded.plan, loaded.positions, trust_code=settings.trust_code)
    until = order.until or next((step.operators[-1] for step in reversed(loaded.plan.steps) if step.operators), "")
    with ExitStack() as opened:
        case = opened.enter_context(Case(order.case, create=False))
        if case.is_encrypted:
            passphrases.share(case.path, kept)
        trial = opened.enter_context(Case(kept))
        note_allowed(case, "trial", settings.allow_hosts)
        read = _copy_documents(case, trial, order)
        loaded, first = _with_own_documents(loaded)
        if first is None and not read:
            raise UsageError(f"the case {order.case} holds no documents to try it on", advice="Add documents first.")
        refuse_crossings(loaded, outputs=(), models=not settings.model)
        loaded = settled(loaded, settings.model, models)
        asked: list[AskedOf] = []
        result = await run_pipeline(
            loaded,
            trial,
            open_model=lambda name: gated(models.open_model(name)),
            open_embedder=models.open_embedder,
            emit=emit,
            options=RunOptions(settings, first=first, rewrite=False),
            new_ask=lambda store, run_id, tell: _RecordingAsk(case.replies, tell, asked),
        )
        items = tried_items(trial, result.run_id, loaded.plan, asked)
        with trial.transaction(relaxed=True):
            for number, item in enumerate(items):
                trial.cache.save(_ITEMS, str(number), asdict(item))
    return Tried(
        until=until,
        documents=tuple(name for name, _ in read),
        items=tuple(_line(item) for item in items),
        calls=sum(not call.reply.from_cache for call in asked if call.reply is not None),
        from_case=sum(call.reply.from_cache for call in asked if call.reply is not None),
        note=_note(loaded.plan),
        case=str(kept),
        run=result.run_id,
        in_part=tuple((name, share) for name, share in read if share < 1),
    )


def read_item(cache: Cache, number: int) -> dict[str, Any]:
    """Return an item of a trial by its place in the list; raises UsageError where there is none."""
    item: dict[str, Any] | None = cache.get(_ITEMS, str(number))
    if item is None:
        raise UsageError(f"the trial has no item {number}", advice="Choose one of its list.")
    return item


class _RecordingAsk(CachedAsk):
    """The model client of a trial, which records every request and reply."""

    def __init__(self, store: Replies, emit: Emit, asked: list[AskedOf]) -> None:
        super().__init__(store, None, emit)
        self._asked = asked

    async def ask(self, backend: ModelBackend, request: Request) -> Reply:
        record = AskedOf(request)
        self._asked.append(record)
        record.reply = await super().ask(backend, request)
        return record.reply


def _copy_documents(case: Case, trial: Case, order: TryCommand) -> list[tuple[str, float]]:
    """Copy the documents of a trial; return the name of each and the share of its text that is read, 0 to 1.

    Those that were removed from the case are left out. Raises UsageError where no other was chosen.
    """
    entries = {entry.id: entry for entry in wanted_documents(case, Dataset("documents", "case"))}
    chosen = [id for id in order.documents if id in entries] if order.documents else list(entries)[:DOCUMENTS]
    if order.documents and not chosen:
        raise UsageError(
            f"the case {order.case} has none of the documents that were chosen",
            advice="Choose others, or put back those that were removed.",
        )
    read = []
    for id in chosen:
        paths = case.documents.paths(id)
        document, share = load_document(case, DocumentId(id)), 1.0
        if order.most_characters > 0:
            document, share = best_parts(document, _question(order.text), order.most_characters)
        with trial.transaction():
            save_document(trial, document)
            trial.documents.add_path(id, paths[0].path if paths else entries[id].filename)
        read.append((entries[id].filename, share))
    return read


def _question(text: str) -> str:
    """Return what a pipeline says that it was written for, with its columns; empty where it says nothing."""
    table = table_of(text)
    return " ".join((table.question, table.row, *(column.name for column in table.columns))) if table else ""


def _with_own_documents(loaded: Loaded) -> tuple[Loaded, int | None]:
    """Let datasets of documents read the trial's case; return how many rows to take of data files too, if any."""
    plan = loaded.plan
    reads_documents = False
    for dataset in plan.datasets:
        if kind_of_source(dataset, loaded.directory) in ("folder", "case"):
            reads_documents = True
            own = Dataset(
                dataset.name,
                "case",
                glob=dataset.glob if dataset.type == "case" else (),
                parsing=dataset.parsing,
                include_hidden=dataset.include_hidden,
            )
            plan = plan.with_dataset(own)
    return replace(loaded, plan=plan), None if reads_documents else DOCUMENTS


def _line(item: TriedItem) -> TriedLine:
    return TriedLine(item.operator, item.name, item.fate, len(item.calls), item.made)


def _note(plan: Plan) -> str:
    """Say what a trial of a few documents cannot show."""
    waits = [node.name for node in plan.operators if not node.traits().row_local]
    if not waits:
        return ""
    verb = "compares" if len(waits) == 1 else "compare"
    return f"{', '.join(waits)} {verb} all rows, so with all documents the result may differ."


def up_to(plan: Plan, operator: str) -> Plan:
    """Return the plan that ends with an operator: what comes behind it in its step, and the later steps, are left out.

    Steps before it that it does not need stay. Raises PipelineError where no step runs it.
    """
    steps: list[Step] = []
    for step in plan.steps:
        if operator in step.operators:
            names = step.operators[: step.operators.index(operator) + 1]
            steps.append(replace(step, operators=names))
            used = {name for part in steps for name in part.operators}
            kept = tuple(node for node in plan.operators if node.name in used)
            return replace(plan, steps=tuple(steps), operators=kept, output=Output())
        steps.append(step)
    raise PipelineError(
        f"no step runs {operator!r}", advice="Put it into a step, or choose another operator.", operator=operator
    )


# Of a long document a preview reads parts: its beginning, and what fits the question best.

PIECE_CHARACTERS = 1_500
"""What is read or left out together: lines of one page up to so many characters."""


def best_parts(document: Document, question: str, characters: int) -> tuple[Document, float]:
    """Return the document with at most so many characters left, and the share (0 to 1) of its text that they are.

    The first piece stays, then those whose words fit the question best (BM25), in their order; without a question the
    first ones. Lines that are left out keep their number and have no text, so that every place stays what it was; of a
    line that is longer by itself the beginning stays.
    """
    pieces = list(_pieces(document.lines))
    sizes = [sum(len(line.text) + 1 for line in piece) for piece in pieces]
    total = sum(sizes)
    if total <= characters:
        return document, 1.0
    fits = rank_by_text(question, ["\n".join(line.text for line in piece) for piece in pieces])
    kept, room = set[int](), characters
    for number in sorted(range(len(pieces)), key=lambda number: (number > 0, -fits[number], number)):
        if sizes[number] <= room or number == 0:
            kept.add(number)
            room -= sizes[number]
    left_out = {line.number for number, piece in enumerate(pieces) if number not in kept for line in piece}
    lines = tuple(
        replace(line, text="" if line.number in left_out else line.text[: characters - 1]) for line in document.lines
    )
    gone = [line for line in document.lines if line.number in left_out]
    tables = tuple(table for table in document.tables if not any(table.holds(line) for line in gone))
    return replace(document, lines=lines, tables=tables), sum(len(line.text) + 1 for line in lines if line.text) / total


def _pieces(lines: Sequence[Line]) -> Iterator[list[Line]]:
    piece: list[Line] = []
    size = 0
    for line in lines:
        if piece and (line.page != piece[0].page or size + len(line.text) >= PIECE_CHARACTERS):
            yield piece
            piece, size = [], 0
        piece.append(line)
        size += len(line.text) + 1
    if piece:
        yield piece

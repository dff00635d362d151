"""The ledger on a screen: the sums of a run, then every file and row that failed or was left out."""

from __future__ import annotations

from collections import Counter
from collections.abc import Container, Sequence

from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.table import Column

from engine.cli.console import counted, one_line, shortened, styled
from engine.cli.results_view import plain_table
from engine.results.hidden import hidden_pages_text
from engine.results.ledger import RowNames, notes_of
from storage.case import Case
from storage.documents import FailedFile
from storage.ledger import DocumentRecord, DocumentSums, Ledger, StoredDecision, StoredFate
from storage.replies import Replies

_NUMBERS = ("in", "output", "rejected", "failed", "rows out")
_REPLY_CHARACTERS = 400
_REASON_CHARACTERS = 160
_REASONS = 5
_WARNINGS = 20


def ledger_view(ledger: Ledger) -> RenderableType:
    """Draw the sums."""
    files = _files_text(ledger.documents)
    view = plain_table("", *(Column(name, justify="right") for name in _NUMBERS))
    for sums in ledger.operators:
        numbers = (sums.rows_in, sums.output, sums.rejected, sums.failed, sums.rows_out)
        style = "" if sums.adds_up and not sums.failed else "red"
        view.add_row(styled(one_line(sums.operator)), *(f"{n:,}" for n in numbers), style=style)
    verdict = (
        ("It adds up.", "green")
        if ledger.adds_up
        else ("The counts do not add up. That is a fault in Redwell: please report it.", "bold red")
    )
    return Group(styled(("Ledger  ", "bold"), files, ". ", verdict), view)


def files_view(documents: DocumentSums) -> RenderableType:
    """Draw the sums of files alone."""
    return styled(("Files  ", "bold"), _files_text(documents), ".")


def _files_text(documents: DocumentSums) -> str:
    if not documents.found:
        return "no files"
    return (
        f"{counted(documents.found, 'file')} found: {documents.parsed:,} read, "
        f"{counted(documents.duplicates, 'duplicate')}, {documents.failed:,} failed"
    )


def unread_view(case: Case, documents: Container[str] | None = None) -> RenderableType | None:
    """List what of documents was not read, and count pages with hidden text; None where there is nothing to say.

    `documents`: of these alone, None for all of the case.
    """
    warnings = [w for w in case.documents.warnings() if documents is None or w.document_id in documents]
    parts: list[RenderableType] = []
    if hidden := hidden_pages_text(case.listing):
        parts.append(styled(("Hidden  ", "bold"), f"{hidden}; models see it only with --include-hidden."))
    if warnings:
        count = len({warning.document_id for warning in warnings})
        parts.append(styled(("Not all", "bold"), f" of {counted(count, 'document')} was read, or is certain:"))
        parts += [Padding(styled(one_line(f"{w.filename}: {w.text}")), (0, 0, 0, 2)) for w in warnings[:_WARNINGS]]
        if len(warnings) > _WARNINGS:
            parts.append(
                Padding(styled(f"and {len(warnings) - _WARNINGS:,} more: redwell ledger --json"), (0, 0, 0, 2))
            )
    return Group(*parts) if parts else None


def failed_files(records: Sequence[DocumentRecord | FailedFile], most: int | None = None) -> RenderableType:
    """List files that could not be read, each with its reason and advice."""
    items = [(record.path, record.message, record.advice) for record in records[:most]]
    return _problems(f"{counted(len(records), 'file')} failed", items, len(records))


def failed_rows(case: Case, run_id: str, fates: Sequence[StoredFate], most: int | None = None) -> RenderableType:
    """List rows that an operator could not process, each with its error, advice and the raw reply."""
    name = RowNames(case, run_id)
    items = []
    for fate in fates[:most]:
        reply = shortened(one_line(fate.record.raw_reply or ""), _REPLY_CHARACTERS)
        advice = fate.record.advice + (f" The model said: {reply}" if reply else "")
        items.append((f"{fate.operator}: {name(fate.record.row_id)}", fate.record.error, advice))
    return _problems(f"{counted(len(fates), 'row')} failed", items, len(fates))


def rejected_rows(case: Case, run_id: str, fates: Sequence[StoredFate]) -> RenderableType:
    """List rows that were left out, each with the reason."""
    name = RowNames(case, run_id)
    items = [(f"{fate.operator}: {name(fate.record.row_id)}", fate.record.reason, "") for fate in fates]
    return _problems(f"{counted(len(items), 'row')} left out", items, len(items), style="bold")


def rejections_view(fates: Sequence[StoredFate]) -> RenderableType:
    """Sum up why rows were left out: a line per operator and reason, the commonest first."""
    counts = Counter((fate.operator, fate.record.reason) for fate in fates)
    parts: list[RenderableType] = [styled((f"{counted(len(fates), 'row')} left out", "bold"))]
    for (operator, reason), count in counts.most_common(_REASONS):
        line = styled(
            f"{count:,} by ", (one_line(operator), "bold"), ": ", shortened(one_line(reason), _REASON_CHARACTERS)
        )
        parts.append(Padding(line, (0, 0, 0, 2)))
    if more := len(counts) - _REASONS:
        parts += [Padding(styled((f"and {counted(more, 'reason')} more", "dim")), (0, 0, 0, 2))] if more > 0 else []
    return Group(*parts)


def notes_view(decisions: Sequence[StoredDecision]) -> RenderableType | None:
    """Sum up what befell rows that went on (cut to fit, read in parts, ...); None where nothing did."""
    parts = [
        styled(
            (f"{counted(note.count, 'row')} {note.verdict}", "bold yellow"),
            f" by {one_line(note.operator)} ({one_line(note.by)}), the first: ",
            shortened(one_line(note.first), _REASON_CHARACTERS),
        )
        for note in notes_of(decisions)
    ]
    return Group(*parts) if parts else None


def calls_view(replies: Replies, run_id: str) -> RenderableType | None:
    """Tell calls of the model that a kill cut short, and their repetitions, from finished ones; None without any."""
    answered = sum(replies.calls_of_run(run_id).values())
    unfinished = sum(replies.unfinished_calls_of_run(run_id).values())
    repeated = sum(replies.repeated_calls_of_run(run_id).values())
    if not unfinished and not repeated:
        return None
    parts = [f"{answered:,} answered"]
    if repeated:
        parts.append(f"{repeated:,} of them asked again, as an earlier run had ended before their answer")
    if unfinished:
        parts.append(f"{unfinished:,} begun and not answered when the run ended")
    return styled(("Model calls  ", "bold"), ", ".join(parts), ".")


def decisions_view(decisions: Sequence[StoredDecision]) -> RenderableType:
    """List the verdicts about pairs and groups."""
    names = ("operator", "field", "one", "other", "verdict", "by", "because")
    view = plain_table(*(Column(name, overflow="fold") for name in names))
    for stored in decisions:
        record = stored.record
        texts = (record.subject, record.left, record.right, record.verdict, record.by, record.detail)
        view.add_row(styled(one_line(stored.operator)), *(styled(one_line(text)) for text in texts))
    title = styled((counted(len(decisions), "decision"), "bold"))
    return Group(title, view) if decisions else title


def _problems(
    title: str, shown: Sequence[tuple[str, str, str]], total: int, *, style: str = "bold red"
) -> RenderableType:
    parts: list[RenderableType] = [styled((title, style))]
    for name, message, advice in shown:
        parts.append(Padding(styled((one_line(name), "bold"), ": ", one_line(message)), (0, 0, 0, 2)))
        if advice:
            parts.append(Padding(styled(("what to do: ", "dim"), one_line(advice)), (0, 0, 0, 4)))
    if more := total - len(shown):
        parts.append(Padding(styled((f"and {more:,} more", "dim")), (0, 0, 0, 2)))
    return Group(*parts)

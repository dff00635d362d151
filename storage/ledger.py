"""The ledger: what became of every document and every row, and every verdict about pairs."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Literal, get_args

from storage.checksums import is_whole
from storage.codec import optional_text, text_of
from storage.topic import Topic

Fate = Literal["output", "rejected", "failed"]
DocumentFate = Literal["parsed", "duplicate", "failed"]


@dataclass(frozen=True, slots=True)
class FateRecord:
    """What became of one input row of an operator. `raw_reply` is what the model said, None when it said nothing."""

    row_id: str
    fate: Fate
    reason: str = ""
    error: str = ""
    advice: str = ""
    raw_reply: str | None = None


@dataclass(frozen=True, slots=True)
class StoredFate:
    """A fate and the operator it befell in."""

    operator: str
    record: FateRecord


@dataclass(frozen=True, slots=True)
class DocumentRecord:
    """What became of one input file of a run. `document_id` is None when it could not be parsed."""

    path: str
    fate: DocumentFate
    document_id: str | None = None
    reason: str = ""
    message: str = ""
    advice: str = ""


@dataclass(frozen=True, slots=True)
class DecisionRecord:
    """One verdict about a pair or group; `by` says who decided (model, rule, identical, transitivity, user)."""

    subject: str
    left: str
    right: str
    verdict: str
    by: str
    detail: str = ""


@dataclass(frozen=True, slots=True)
class StoredDecision:
    """A decision and the operator that took it."""

    operator: str
    record: DecisionRecord


@dataclass(frozen=True, slots=True)
class DocumentSums:
    """Files of a run: `found` is every one, each of which was parsed, a duplicate of another, or failed."""

    found: int
    parsed: int
    duplicates: int
    failed: int

    @property
    def adds_up(self) -> bool:
        """Say whether every file is accounted for."""
        return self.found == self.parsed + self.duplicates + self.failed


@dataclass(frozen=True, slots=True)
class OperatorSums:
    """Input rows of one operator by fate, and `rows_out`, the rows it put out (more or fewer than `output`)."""

    operator: str
    rows_in: int
    output: int
    rejected: int
    failed: int
    rows_out: int

    @property
    def adds_up(self) -> bool:
        """Say whether every input row is accounted for."""
        return self.rows_in == self.output + self.rejected + self.failed


@dataclass(frozen=True, slots=True)
class Ledger:
    """The sums of one run; operators in the order they first reported."""

    documents: DocumentSums
    operators: tuple[OperatorSums, ...]

    @property
    def adds_up(self) -> bool:
        """Say whether every file and every row is accounted for."""
        return self.documents.adds_up and all(operator.adds_up for operator in self.operators)

    @property
    def failed(self) -> int:
        """Count everything that failed: files and rows."""
        return self.documents.failed + sum(operator.failed for operator in self.operators)


class LedgerBook(Topic):
    """The part of a case that holds the ledger."""

    def save_fates(
        self, run_id: str, operator: str, fates: Iterable[FateRecord], *, rows_in: int | None = None
    ) -> None:
        """Save the fates of an operator's input rows; a row's later fate replaces the earlier.

        `rows_in` is how many rows the operator was given: without it the ledger can only count the fates.
        """
        records = list(fates)
        with self._connection.transaction():
            key = self._operator_key(run_id, operator)
            rows = self._row_keys(run_id, {record.row_id for record in records})
            self._connection.execute_many(
                "INSERT OR REPLACE INTO fates (operator, row, fate, reason, error, advice, raw_reply)"
                " VALUES (?, ?, ?, ?, ?, ?, ?)",
                ((key, rows[r.row_id], r.fate, r.reason, r.error, r.advice, r.raw_reply) for r in records),
            )
            if rows_in is not None:
                self._connection.execute("UPDATE operators SET rows_in = ? WHERE key = ?", [rows_in, key])

    def fates(
        self,
        run_id: str,
        operator: str | None = None,
        fate: Fate | None = None,
        *,
        offset: int = 0,
        limit: int | None = None,
    ) -> list[StoredFate]:
        """List fates, of one operator or one kind if given, by operator and then by row.

        So many from `offset` on, all where `limit` is None.
        """
        where, parameters = _filter("o.run = ?", run_id, ("o.name", operator), ("f.fate", fate))
        rows = self._connection.query(
            f"SELECT o.name, i.id, f.fate, f.reason, f.error, f.advice, f.raw_reply, {is_whole(f='fates')} FROM fates f"
            f" JOIN operators o ON o.key = f.operator JOIN row_ids i ON i.key = f.row WHERE {where}"
            " ORDER BY o.key, f.row LIMIT ? OFFSET ?",
            [*parameters, -1 if limit is None else limit, offset],
        )
        return [
            StoredFate(
                text_of(name),
                FateRecord(
                    text_of(row), kind, text_of(reason), text_of(error), text_of(advice), optional_text(raw_reply)
                ),
            )
            for name, row, kind, reason, error, advice, raw_reply in self._whole("the fate of a row", rows)
        ]

    def save_run_documents(self, run_id: str, records: Iterable[DocumentRecord]) -> None:
        """Save what became of the input files of a run; a path's later fate replaces the earlier."""
        with self._connection.transaction():
            self._need_run(run_id)
            self._connection.execute_many(
                "INSERT OR REPLACE INTO run_documents (run, path, fate, document_id, reason, message, advice)"
                " VALUES (?, ?, ?, ?, ?, ?, ?)",
                ((run_id, r.path, r.fate, r.document_id, r.reason, r.message, r.advice) for r in records),
            )

    def run_documents(self, run_id: str, fate: DocumentFate | None = None) -> list[DocumentRecord]:
        """List the input files of a run, those of one fate if given, by path."""
        self._need_run(run_id)
        where, parameters = _filter("run = ?", run_id, ("fate", fate))
        rows = self._connection.query(
            f"SELECT path, fate, document_id, reason, message, advice, {is_whole(f='run_documents')}"
            f" FROM run_documents f WHERE {where} ORDER BY path",
            parameters,
        )
        return [
            DocumentRecord(text_of(path), kind, document, text_of(reason), text_of(message), text_of(advice))
            for path, kind, document, reason, message, advice in self._whole("the fate of a file", rows)
        ]

    def save_decisions(self, run_id: str, operator: str, decisions: Iterable[DecisionRecord]) -> None:
        """Save verdicts; a later verdict of the same decider on the same subject and pair replaces the earlier."""
        with self._connection.transaction():
            key = self._operator_key(run_id, operator)
            self._connection.execute_many(
                'INSERT INTO decisions (operator, subject, "left", "right", verdict, by, detail)'
                " VALUES (?, ?, ?, ?, ?, ?, ?)"
                ' ON CONFLICT (operator, subject, "left", "right", by) DO UPDATE'
                " SET verdict = excluded.verdict, detail = excluded.detail",
                ((key, d.subject, d.left, d.right, d.verdict, d.by, d.detail) for d in decisions),
            )

    def decisions(self, run_id: str, operator: str | None = None) -> list[StoredDecision]:
        """List verdicts in the order they were first saved, of one operator if given."""
        self._need_run(run_id)
        where, parameters = _filter("o.run = ?", run_id, ("o.name", operator))
        rows = self._connection.query(
            'SELECT o.name, d.subject, d."left", d."right", d.verdict, d.by, d.detail,'
            f" {is_whole(d='decisions')} FROM decisions d"
            f" JOIN operators o ON o.key = d.operator WHERE {where} ORDER BY o.key, d.key",
            parameters,
        )
        return [
            StoredDecision(text_of(name), DecisionRecord(*(text_of(t) for t in rest)))
            for name, *rest in self._whole("a decision", rows)
        ]

    def sums(self, run_id: str) -> Ledger:
        """Return the sums of a run."""
        self._need_run(run_id)
        rows = self._connection.query(
            "SELECT o.name, o.rows_in, (SELECT count(*) FROM rows r WHERE r.operator = o.key),"
            " sum(f.fate = 'output'), sum(f.fate = 'rejected'), sum(f.fate = 'failed')"
            " FROM operators o LEFT JOIN fates f ON f.operator = o.key WHERE o.run = ? GROUP BY o.key ORDER BY o.key",
            [run_id],
        )
        return Ledger(self._document_sums(run_id), tuple(_operator_sums(*row) for row in rows))

    def case_document_sums(self) -> DocumentSums:
        """Sum the files of the whole case, whichever run or `ingest` read them."""
        paths = self._connection.count("SELECT count(*) FROM paths")
        parsed = self._connection.count("SELECT count(DISTINCT document) FROM paths")
        failed = self._connection.count("SELECT count(*) FROM failures")
        return DocumentSums(paths + failed, parsed, paths - parsed, failed)

    def _document_sums(self, run_id: str) -> DocumentSums:
        counts = dict(
            self._connection.query("SELECT fate, count(*) FROM run_documents WHERE run = ? GROUP BY fate", [run_id])
        )
        parsed, duplicates, failed = (int(counts.get(fate, 0)) for fate in get_args(DocumentFate))
        return DocumentSums(sum(counts.values()), parsed, duplicates, failed)


def _operator_sums(
    name: Any, rows_in: int | None, rows_out: int, output: int | None, rejected: int | None, failed: int | None
) -> OperatorSums:
    fates = (output or 0, rejected or 0, failed or 0)
    return OperatorSums(text_of(name), sum(fates) if rows_in is None else rows_in, *fates, rows_out)


def _filter(where: str, first: Any, *conditions: tuple[str, Any]) -> tuple[str, list[Any]]:
    """Add `column = ?` for each condition whose value is given."""
    pairs = [(column, value) for column, value in conditions if value is not None]
    return " AND ".join([where, *(f"{column} = ?" for column, _ in pairs)]), [first, *(value for _, value in pairs)]

"""What an operator is: an async function from (node, rows, tools) to an Outcome that accounts for every row."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Any, Literal, Protocol

from engine.code.program import Program
from engine.documents.document import Document
from engine.documents.outline import Structure
from engine.plan.node import Node
from engine.rows import DocumentId, Row, Span
from models.matrices import Matrix
from models.protocol import Reply, Request, Sampling


@dataclass(frozen=True, slots=True)
class Rejected:
    """A row that an operator left out, and why. It stays in the ledger."""

    row: Row
    reason: str


@dataclass(frozen=True, slots=True)
class Failed:
    """A row that an operator could not process, with the error, the advice and what the model said."""

    row: Row
    error: str
    advice: str = ""
    raw_reply: str | None = None


NOTE = "(row)"
"""The subject of a decision that is a note about one row."""


@dataclass(frozen=True, slots=True)
class Decision:
    """One verdict about a pair or group that the ledger must show (resolve: are these the same?).

    `verdict` is "same", "different", "undecided" (not merged; `detail` says why nobody could tell) or "compared" (which
    pairs were looked at at all).
    `by` says who decided: "model", "sample" (what the model said of a sample of pairs), "transitivity",
    "similarity", "user", "constraint" (joining would bring together what a rule or the user keeps apart), "limit",
    "error", or a code rule: "identical", "badge", "only_bearer_in_document", ...

    A note about one row that went on is a decision too: `subject` is NOTE, `left` the row's id, and `verdict` what
    befell it ("cut", "split", "not refined"), by which key of the operator.
    """

    subject: str
    left: str
    right: str
    verdict: str
    by: str
    detail: str = ""


@dataclass(frozen=True)
class Outcome:
    """Every input row's fate: an ancestor of a row in `rows`, or in `rejected`, or in `failed`.

    `warnings` are said to whoever watches the run: what a person should look at before trusting the rows.
    """

    rows: Sequence[Row] = ()
    rejected: Sequence[Rejected] = ()
    failed: Sequence[Failed] = ()
    decisions: Sequence[Decision] = ()
    warnings: Sequence[str] = ()

    @classmethod
    def together(cls, outcomes: Sequence[Outcome]) -> Outcome:
        """Put outcomes one after another."""
        return cls(*([item for each in outcomes for item in getattr(each, part.name)] for part in fields(cls)))


@dataclass(frozen=True, slots=True)
class Retrieved:
    """A text that a retriever found; `span` are its lines in the document, `score` is higher for better ones."""

    text: str
    document_id: DocumentId | None = None
    span: Span | None = None
    score: float = 0.0


@dataclass
class CallRecord:
    """What the questions of one call of an operator leave behind beside their answers.

    `contexts` are the texts shown from a retriever, by the row (a group's first) that was asked about; `passages` the
    same with their places. `agreements` say how far several readings of a row agree, by field, and
    `emptiness` how likely the model held it that a list has no entry.
    """

    decisions: list[Decision] = field(default_factory=list)
    agreements: dict[str, dict[str, Any]] = field(default_factory=dict)
    emptiness: dict[str, dict[str, float]] = field(default_factory=dict)
    contexts: dict[str, str] = field(default_factory=dict)
    passages: dict[str, Sequence[Retrieved]] = field(default_factory=dict)

    def retrieved(self, row_id: str, context: str, found: Sequence[Retrieved]) -> None:
        """Keep what a question about a row was shown, beside what other questions about it were (the steps of a fold).

        `context` of nothing found is kept only while there is nothing else.
        """
        before = self.passages.get(row_id, ())
        if not found and row_id in self.contexts:
            return
        if before and context not in self.contexts[row_id]:
            context = f"{self.contexts[row_id]}\n\n{context}"
        elif before:
            context = self.contexts[row_id]
        self.contexts[row_id] = context
        self.passages[row_id] = list(dict.fromkeys([*before, *found]))

    def agreed(self, row_id: str, fields: Mapping[str, Any]) -> None:
        """Keep how far readings of a row agree; a row may be asked about in parts (its fields, or windows of a text).

        Of a field that several parts answer, the one that agrees least is kept.
        """
        known = self.agreements.setdefault(row_id, {})
        for name, agreement in fields.items():
            if name not in known or agreement["share"] < known[name]["share"]:
                known[name] = agreement

    def note(self, row_id: str, verdict: str, by: str, detail: str) -> None:
        """Tell the ledger what befell a row that goes on."""
        self.decisions.append(Decision(NOTE, row_id, "", verdict, by, detail))


class Tools(Protocol):
    """What the executor lends an operator. `ask` is the only way to a model."""

    @property
    def system_prompt(self) -> str:
        """Return the text every model operator puts first; empty when the pipeline sets none."""

    @property
    def sampling(self) -> Sampling:
        """Return the pipeline's sampling, of which an operator may override parts."""

    @property
    def seed(self) -> int:
        """Return the pipeline's seed."""

    @property
    def context_tokens(self) -> int:
        """Return the context of the node's model, prompt and reply together."""

    def count_tokens(self, text: str) -> int:
        """Count tokens with the node's model."""

    async def ask(self, request: Request, *, model: str | None = None) -> Reply:
        """Ask the node's model, or another by name; raises models.errors.ModelError."""

    async def retrieve(self, name: str, values: Mapping[str, Any]) -> Sequence[Retrieved]:
        """Find what a retriever of the pipeline holds for a row, best first; raises PipelineError for unknown names."""

    @property
    def record(self) -> CallRecord:
        """Return where this call's notes are kept."""

    async def embed(self, texts: Sequence[str]) -> Matrix:
        """Embed texts: shape (len(texts), dimensions), rows of unit length."""

    @property
    def joined_fields(self) -> tuple[Sequence[str], Sequence[str]]:
        """Return the fields of the left and of the right rows of a join, as far as they are known before it runs."""

    def structure(self, document_id: DocumentId) -> Structure:
        """Say where the pages and the sections of a document begin."""

    def document(self, document_id: DocumentId) -> Document:
        """Return a document with its pages and lines."""

    async def read_by_ocr(self, document_id: DocumentId, pages: Sequence[int]) -> Document:
        """Read some pages of a document's file by OCR, the others left empty; raises DocumentError."""

    async def call_code(self, program: Program, given: Any) -> Any:
        """Call `transform` of the pipeline's own Python with a JSON value, in a process that sees nothing else.

        Raises ItemError for what goes wrong in the call, PipelineError when the code is not trusted or cannot be read.
        """

    def progress(self, done: int, total: int) -> None:
        """Report how many work items (rows, pairs, groups) are finished."""


@dataclass(frozen=True, kw_only=True)
class OnErrorNode(Node):
    """Record a row that fails and go on, or end the run there; `skip_on_error` is DocETL's name for it.

    All operators that ask a model or run code are of this kind.
    """

    on_error: Literal["record", "fail_run"] = "record"
    skip_on_error: bool | None = None

    def __post_init__(self) -> None:
        self.require(
            not (self.skip_on_error and self.on_error == "fail_run"),
            "skip_on_error: true and on_error: fail_run contradict each other",
            "Keep one of them.",
        )

    @property
    def fails_run(self) -> bool:
        """Say whether a row that fails ends the run; `skip_on_error: false`, where it is written, says so too."""
        return self.on_error == "fail_run" or self.skip_on_error is False


OperatorInput = Sequence[Row] | tuple[Sequence[Row], Sequence[Row]]
"""The rows an operator is given; a join (Traits.inputs 2) is given those of its left and right side."""

OperatorFunction = Callable[[Any, Any, Tools], Awaitable[Outcome]]

FusedFunction = Callable[[Sequence[Any], Sequence[Row], Tools], Awaitable[Sequence[Outcome]]]
"""Runs neighbouring nodes of one group (Traits.fuses) on rows: one Outcome per node, of the rows that reached it."""


@dataclass(frozen=True, slots=True)
class Operator:
    """A registry entry: the node type and the function that runs it.

    `run_fused` must do what running the nodes one after another does, in fewer calls; the first node's is used.
    """

    node_type: type[Node]
    run: OperatorFunction
    run_fused: FusedFunction | None = None

"""What the executor lends an operator while it runs (engine.operators.base.Tools)."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from engine.code.pool import CodePool
from engine.code.program import Program
from engine.disk import sha256_of
from engine.documents.document import Document
from engine.documents.leftovers import scratch_folder
from engine.documents.options import ParseOptions
from engine.documents.outline import Structure, structure_of
from engine.documents.pool import ParserPool
from engine.errors import CaseError, DocumentError, PipelineError, RedwellError
from engine.executor.asking import Asking
from engine.executor.case_documents import load_document
from engine.executor.events import Emit, OperatorProgress
from engine.executor.model_pool import ModelPool, TextEmbedder
from engine.executor.retrieval import Retrieval
from engine.language.checks import Sides
from engine.language.trust import TRUST_ADVICE
from engine.operators.base import CallRecord, Outcome, Retrieved
from engine.plan.plan import Settings
from engine.rows import DocumentId
from models.matrices import Matrix, new_matrix
from models.protocol import ModelBackend, Reply, Request, Sampling
from storage.case import Case
from storage.documents import Documents

WatchOutcome = Callable[[str, Outcome], None]
"""Sees what one call of an operator made of its rows, as soon as it did; rows may be seen more than once."""


def watch_nothing(operator: str, outcome: Outcome) -> None:
    """Look away."""


@dataclass
class Progress:
    """How far one operator is over all of its calls."""

    operator: str
    emit: Emit
    done: int = 0
    total: int = 0
    _announced: int = 0

    def announce(self, rows: int) -> None:
        """Count work before it arrives."""
        self._announced += rows
        self.total += rows
        self.emit(OperatorProgress(self.operator, self.done, self.total))

    def expect(self, more: int) -> None:
        """Add work that has arrived, if it was not announced."""
        known = min(more, self._announced)
        self._announced -= known
        self.total += more - known
        self.emit(OperatorProgress(self.operator, self.done, self.total))

    def advance(self, done: int, total: int) -> None:
        """Add to both numbers (they may be negative: a call may learn that it has less to do)."""
        self.done += done
        self.total += total
        self.emit(OperatorProgress(self.operator, self.done, self.total))


@dataclass(frozen=True)
class RunResources:
    """All that the calls of a run share."""

    case: Case
    asking: Asking
    pool: ModelPool
    settings: Settings
    system_prompt: str
    retrieval: Retrieval
    trusts_code: bool = False
    includes_hidden: bool = False
    code: CodePool = field(default_factory=CodePool)
    joined_fields: Mapping[str, Sides] = field(default_factory=dict)
    watch: WatchOutcome = watch_nothing
    structures: dict[DocumentId, Structure] = field(default_factory=dict)
    passages: dict[str, Sequence[Retrieved]] = field(default_factory=dict)
    """What retrievers found, by the row that was asked about: its evidence is looked for there too."""


class OperatorTools:
    """The tools of one call of one operator over some rows. `backend` is None for operators without a model."""

    def __init__(
        self, resources: RunResources, backend: ModelBackend | None, progress: Progress, expected: int
    ) -> None:
        settings = resources.settings
        self.system_prompt = resources.system_prompt
        self.sampling = Sampling(temperature=settings.temperature, max_tokens=settings.max_tokens)
        self.seed = settings.seed
        self.joined_fields = resources.joined_fields.get(progress.operator, ((), ()))
        self.record = CallRecord()
        self._resources = resources
        self._backend = backend
        self._progress = progress
        self._done = 0
        self._total = expected
        progress.expect(expected)

    @property
    def context_tokens(self) -> int:
        """Return the model's context, prompt and reply together."""
        return self._model.context_tokens

    def count_tokens(self, text: str) -> int:
        """Count tokens with the operator's model."""
        return self._model.count_tokens(text)

    async def ask(self, request: Request, *, model: str | None = None) -> Reply:
        """Ask the operator's model, or another by name, through the reply cache."""
        backend = self._model if model is None else await self._resources.pool.model(model)
        return await self._resources.asking.ask(backend, request)

    async def retrieve(self, name: str, values: Mapping[str, Any]) -> Sequence[Retrieved]:
        """Find what a retriever holds for a row; raises PipelineError where there is none of that name."""
        return await self._resources.retrieval.find(name, values, self.embed)

    async def embed(self, texts: Sequence[str]) -> Matrix:
        """Embed texts: shape (len(texts), dimensions), unit rows; each text is computed once per case.

        The result of very many texts is no plain memory: write to a copy of parts of it, or not at all.
        """
        return await embed_through_case(self._resources.case, self._resources.pool.embedder(), texts)

    def structure(self, document_id: DocumentId) -> Structure:
        """Say where the pages and the sections of a document begin; worked out once a run."""
        known = self._resources.structures
        if document_id not in known:
            known[document_id] = structure_of(self.document(document_id))
        return known[document_id]

    def document(self, document_id: DocumentId) -> Document:
        """Return a document of the case, with its hidden lines only if models are shown them; raises NotInCase."""
        document = load_document(self._resources.case, document_id)
        return document if self._resources.includes_hidden else document.seen()

    async def read_by_ocr(self, document_id: DocumentId, pages: Sequence[int]) -> Document:
        """Read some pages of a document's file by OCR, the others left empty; raises DocumentError."""
        return await read_by_ocr(self._resources.case.documents, document_id, pages)

    async def call_code(self, program: Program, given: Any) -> Any:
        """Call code of the pipeline in a confined process; raises PipelineError unless it is trusted."""
        if not self._resources.trusts_code:
            raise PipelineError(
                "runs Python from the pipeline, which has not been trusted",
                advice=TRUST_ADVICE,
                operator=program.operator,
            )
        return await self._resources.code.call(program, given)

    def progress(self, done: int, total: int) -> None:
        """Report how many work items of this call are finished."""
        self._progress.advance(done - self._done, total - self._total)
        self._done, self._total = done, total

    @property
    def _model(self) -> ModelBackend:
        if self._backend is None:
            raise RedwellError(
                f"operator {self._progress.operator!r} asked for a model but declares that it needs none"
            )
        return self._backend


async def read_by_ocr(documents: Documents, document_id: DocumentId, pages: Collection[int]) -> Document:
    """Read pages of a document's file by OCR; the other pages of what is returned are empty, and nothing is kept.

    Raises DocumentError where the file is not there any more, or is another by now.
    """
    for place in documents.paths(document_id):
        file = Path(place.path)
        if file.is_file() and await asyncio.to_thread(sha256_of, file) == document_id:
            options = ParseOptions(ocr="only", tables=False, pages=tuple(sorted(pages)))
            with scratch_folder() as scratch:
                async with ParserPool(1, options) as pool:
                    parsed = await pool.parse(file, name=file.name, scratch=scratch, id=document_id)
            if parsed.document is not None:
                return parsed.document
    raise DocumentError(
        "its file is not where it was, or has changed, so no page can be read again",
        reason="unreadable",
        advice="Put the file back where it was read from.",
    )


WINDOW_TEXTS = 4096
"""Texts looked up at once, so that memory does not grow with their number."""

BATCH_TEXTS = 512
"""Texts computed and then saved together: what a killed run loses at most."""

UNIT_TOLERANCE = 1e-3


async def embed_through_case(case: Case, embedder: TextEmbedder, texts: Sequence[str]) -> Matrix:
    """Return one unit vector per text: shape (len(texts), dimensions), (0, 0) for none.

    The result of very many texts is no plain memory (models.matrices). Raises CaseError if the case holds vectors of
    one model that are not of one length.
    """
    result: Matrix = np.empty((0, 0), np.float32)
    for start in range(0, len(texts), WINDOW_TEXTS):
        vectors = await _window(case, embedder, texts[start : start + WINDOW_TEXTS])
        if not start:
            result = new_matrix(len(texts), vectors.shape[1])
        if vectors.shape[1] != result.shape[1]:
            raise _of_two_lengths(case, {vectors.shape[1], result.shape[1]})
        result[start : start + len(vectors)] = vectors
        await asyncio.sleep(0)  # the run may be cancelled meanwhile
    return result


async def _window(case: Case, embedder: TextEmbedder, texts: Sequence[str]) -> Matrix:
    digests = [text_digest(text) for text in texts]
    distinct = dict(zip(digests, texts, strict=True))
    known = _readable(case.vectors.get(embedder.digest, list(distinct)))
    new = [digest for digest in distinct if digest not in known]
    for start in range(0, len(new), BATCH_TEXTS):
        batch = new[start : start + BATCH_TEXTS]
        computed = np.asarray(await embedder.embed([distinct[digest] for digest in batch]), np.float32)
        # No await between the two: what has been computed is safe before anything else happens.
        case.vectors.save(embedder.digest, {d: v.tobytes() for d, v in zip(batch, computed, strict=True)})
        known.update(zip(batch, computed, strict=True))
    if len(lengths := {len(vector) for vector in known.values()}) > 1:
        raise _of_two_lengths(case, lengths)
    return np.stack([known[digest] for digest in digests])


def _readable(stored: Mapping[bytes, bytes]) -> dict[bytes, Matrix]:
    """Read stored vectors; what is no unit vector (another program's) is left out, and so computed again."""
    vectors = {digest: np.frombuffer(body, "<f4") for digest, body in stored.items() if len(body) % 4 == 0}
    with np.errstate(all="ignore"):  # a comparison with what is not a number is false
        return {d: v for d, v in vectors.items() if abs(float(v @ v) - 1) <= UNIT_TOLERANCE}


def text_digest(text: str) -> bytes:
    """Identify a text: SHA-256."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()


def _of_two_lengths(case: Case, lengths: set[int]) -> CaseError:
    numbers = " and ".join(map(str, sorted(lengths)))
    return CaseError(
        f"the case {case.path} holds vectors of {numbers} numbers, all said to be of one embedding model",
        advice="Run the pipeline in a new case.",
    )

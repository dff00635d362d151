"""Texts to vectors through the case: each text is computed once, in batches that are safe as soon as they are done."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Mapping, Sequence

import numpy as np

from engine.errors import CaseError
from engine.executor.model_pool import TextEmbedder
from models.matrices import Matrix, new_matrix
from storage.case import Case

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
        found = await _window(case, embedder, texts[start : start + WINDOW_TEXTS])
        if not start:
            result = new_matrix(len(texts), found.shape[1])
        if found.shape[1] != result.shape[1]:
            raise _of_two_lengths(case, {found.shape[1], result.shape[1]})
        result[start : start + len(found)] = found
        await asyncio.sleep(0)  # the run may be cancelled meanwhile
    return result


async def _window(case: Case, embedder: TextEmbedder, texts: Sequence[str]) -> Matrix:
    digests = [text_digest(text) for text in texts]
    distinct = dict(zip(digests, texts, strict=True))
    known = _readable(case.vectors(embedder.digest, list(distinct)))
    new = [digest for digest in distinct if digest not in known]
    for start in range(0, len(new), BATCH_TEXTS):
        batch = new[start : start + BATCH_TEXTS]
        computed = np.asarray(await embedder.embed([distinct[digest] for digest in batch]), np.float32)
        # No await between the two: what has been computed is safe before anything else happens.
        case.save_vectors(embedder.digest, {d: v.tobytes() for d, v in zip(batch, computed, strict=True)})
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

"""Evaluated prefixes on disk: a document that will be asked about again is read back instead of read anew.

One file per prefix: a header, the tokens, the runtime's state of the sequence. The files hold what the model made of
the documents, so they are as secret as these: the folder is the user's alone, and nothing is kept unless it is set.
"""

from __future__ import annotations

import contextlib
import hashlib
import logging
import os
import struct
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from models.cache_place import make_private_folder
from models.sequences import common_prefix

_MAGIC = b"RWPREFX1"
_HEADER = struct.Struct("<8sQQ32s")
"""Magic, number of tokens, bytes of state, SHA-256 of tokens and state."""

_log = logging.getLogger(__name__)


class SequenceStates(Protocol):
    """The part of a runtime that gives and takes the state of one sequence (models.llama_runtime.LlamaRuntime)."""

    def sequence_state(self, sequence: int) -> bytes:
        """Return all that the cache holds of a sequence."""

    def restore_sequence(self, sequence: int, state: bytes) -> bool:
        """Put a state into an empty sequence; False, leaving it empty, if the runtime refuses it."""


@dataclass(eq=False)
class _Kept:
    path: Path
    tokens: NDArray[np.int32]
    bytes: int
    last_used: float


class PrefixStore:
    """Prefixes of one model in one folder, at most `most_bytes` of them; the least recently used go first.

    `identity` names everything that the states depend on: the weights, the runtime, its settings.
    """

    def __init__(self, folder: Path, states: SequenceStates, *, identity: str, most_bytes: int) -> None:
        """Find what is there; files that are not whole are removed."""
        self._states = states
        self._most_bytes = most_bytes
        self._folder = folder / hashlib.sha256(identity.encode()).hexdigest()[:16]
        make_private_folder(self._folder)
        for leftover in self._folder.glob("*.part"):
            leftover.unlink(missing_ok=True)
        self._kept = [kept for path in sorted(self._folder.glob("*.prefix")) if (kept := _open(path))]

    @property
    def bytes(self) -> int:
        """Return the size of all files."""
        return sum(kept.bytes for kept in self._kept)

    def longest(self, tokens: NDArray[np.int32], room: int) -> int:
        """Count the leading tokens that the best kept prefix of at most `room` tokens shares."""
        return self._best(tokens, room)[1]

    def save(self, sequence: int, tokens: NDArray[np.int32]) -> None:
        """Keep a sequence that holds exactly `tokens`. A disk that cannot take it only costs time: it is logged."""
        body = np.ascontiguousarray(tokens, np.int32).tobytes() + self._states.sequence_state(sequence)
        size = _HEADER.size + len(body)
        if size > self._most_bytes:
            return
        self._make_room(size)
        digest = hashlib.sha256(body).digest()
        header = _HEADER.pack(_MAGIC, tokens.size, len(body) - 4 * tokens.size, digest)
        path = self._folder / f"{digest.hex()[:32]}.prefix"
        try:
            _write_whole(path, header, body)
        except OSError as error:
            _log.warning("%s could not be written: %s", path, error)
            return
        self._kept.append(_Kept(path, tokens.copy(), size, path.stat().st_mtime))

    def load(self, sequence: int, tokens: NDArray[np.int32], room: int) -> NDArray[np.int32]:
        """Read the best prefix into an empty sequence; return all the tokens it then holds, none if that failed."""
        kept, _ = self._best(tokens, room)
        if kept is None:
            return np.empty(0, np.int32)
        state = _read_state(kept)
        if state is None or not self._states.restore_sequence(sequence, state):
            _log.warning("%s could not be used and is removed", kept.path)
            self._remove(kept)
            return np.empty(0, np.int32)
        with contextlib.suppress(OSError):  # another process may have removed it meanwhile
            os.utime(kept.path)
            kept.last_used = kept.path.stat().st_mtime
        return kept.tokens

    def _best(self, tokens: NDArray[np.int32], room: int) -> tuple[_Kept | None, int]:
        fitting = ((kept, common_prefix(kept.tokens, tokens)) for kept in self._kept if kept.tokens.size <= room)
        return max(fitting, key=lambda pair: pair[1], default=(None, 0))

    def _make_room(self, size: int) -> None:
        while self._kept and self.bytes + size > self._most_bytes:
            self._remove(min(self._kept, key=lambda kept: kept.last_used))

    def _remove(self, kept: _Kept) -> None:
        kept.path.unlink(missing_ok=True)
        self._kept.remove(kept)


def _open(path: Path) -> _Kept | None:
    """Read the header and the tokens; remove a file that is not whole."""
    size = path.stat().st_size
    with path.open("rb") as file:
        header = file.read(_HEADER.size)
        if len(header) == _HEADER.size:
            magic, count, state_bytes, _ = _HEADER.unpack(header)
            if magic == _MAGIC and size == _HEADER.size + 4 * count + state_bytes:
                tokens = np.frombuffer(file.read(4 * count), np.int32)
                return _Kept(path, tokens, size, path.stat().st_mtime)
    path.unlink()
    return None


def _read_state(kept: _Kept) -> bytes | None:
    """Return the state, None unless the file still has the content that its header names."""
    try:
        content = kept.path.read_bytes()
    except OSError:
        return None
    if len(content) != kept.bytes:
        return None
    body = content[_HEADER.size :]
    if hashlib.sha256(body).digest() != _HEADER.unpack(content[: _HEADER.size])[3]:
        return None
    return body[4 * kept.tokens.size :]


def _write_whole(path: Path, *parts: bytes) -> None:
    """Write a file that appears whole or not at all, readable by its owner only."""
    descriptor, name = tempfile.mkstemp(dir=path.parent, suffix=".part")
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.writelines(parts)
        Path(name).replace(path)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise

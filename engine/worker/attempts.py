"""What a process of each kind got when it asked for a socket in the life of this worker, or that it was not tried."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from typing import Final

from engine.code.process import try_from_code_process
from engine.documents.render import try_from_child
from engine.errors import RedwellError
from engine.worker.contract.offline import Tried
from models.errors import ModelError, RuntimeMissing
from models.fence.attempt import Attempt, try_socket
from models.install import smallest_file
from models.isolation.attempt import try_from_model_process
from storage.topic import now

WORKER: Final = "the worker, in which embeddings run"


_kept: dict[str, Tried] = {}
_trying = threading.Lock()


def attempts_so_far() -> list[Tried]:
    """Return the last attempt of each kind of process; those not tried yet say so."""
    return [_kept.get(kind) or Tried(kind, "untried", "not in this session") for kind in _ATTEMPTS]


def try_each_kind() -> list[Tried]:
    """Have a process of each kind ask for a socket; takes a second or two. No model is loaded."""
    with _trying:
        for kind, attempt in _ATTEMPTS.items():
            _kept[kind] = _tried(kind, attempt)
    return attempts_so_far()


def _tried(kind: str, attempt: Callable[[], Attempt]) -> Tried:
    try:
        result = attempt()
    except (RedwellError, ModelError, OSError) as error:
        return Tried(kind, "untried", f"it could not be tried: {error}", now())
    return Tried(kind, result.outcome, result.answer, now())


def _from_model() -> Attempt:
    smallest = smallest_file()
    if smallest is None:
        raise RuntimeMissing("no model is installed")
    return try_from_model_process(smallest.path)


_ATTEMPTS: Final[Mapping[str, Callable[[], Attempt]]] = {
    WORKER: try_socket,
    "reads files, draws pages, OCR": try_from_child,
    "runs code of a pipeline": try_from_code_process,
    "runs a model": _from_model,
}

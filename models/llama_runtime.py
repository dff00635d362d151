"""llama.cpp through its low-level binding: several sequences in one context with a unified KV cache.

The only module that imports llama_cpp. It evaluates tokens and copies prefixes; what to evaluate next is
the scheduler's business (models.scheduler).

With the llama.cpp that set-up builds, the logits of a prompt on a CPU are the same to the last bit whatever is
evaluated with it or lies beside it in the cache (packaging/llama_patch.py, docs/decisions/0005).
"""

from __future__ import annotations

import ctypes
import os
import sys
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

import llama_cpp as lc
import numpy as np
from numpy.typing import NDArray

from models.environment import context_tokens, one_of, whole_number
from models.errors import ModelCrashed, ModelError, NotEnoughMemory, WeightsCorrupt
from models.gguf import recurrent
from models.hardware import usable_cores
from models.layouts import LayoutName

MOST_SLOTS = 256
"""llama.cpp's limit on the sequences of one context."""

MOST_GPU_LAYERS = 999
"""More than any model has: all of them."""


@dataclass(frozen=True, slots=True)
class LlamaSettings:
    """How much of the machine to use. `context_tokens` None means the model's own.

    `running` requests are worked on at once, and the prefixes of `kept` others stay. With `prefix_folder`, prefixes
    marked as shared are kept there too, up to `prefix_bytes`.
    `gpu_layers` are those that a graphics card holds; None leaves the choice to models.opening, else none are.
    `layout` None is the default one (models.layouts).
    """

    context_tokens: int | None = None
    running: int = 32
    kept: int = 16
    threads: int | None = None
    batch_tokens: int = 512
    gpu_layers: int | None = None
    layout: LayoutName | None = None
    prefix_folder: str = ""
    prefix_bytes: int = 4 * 1024**3

    @classmethod
    def from_environment(cls, **given: Any) -> LlamaSettings:
        """Read REDWELL_CONTEXT_TOKENS, _THREADS, _SEQUENCES, _GPU_LAYERS and _PREFIX_FOLDER.

        What is `given` goes first. Raises ModelError naming the variable and its valid numbers.
        """
        settings = cls()
        read = {
            "context_tokens": context_tokens(),
            "threads": whole_number("REDWELL_THREADS", 1, 512),
            "running": whole_number("REDWELL_SEQUENCES", 1, MOST_SLOTS - settings.kept) or settings.running,
            "gpu_layers": whole_number("REDWELL_GPU_LAYERS", 0, MOST_GPU_LAYERS),
            "prefix_folder": os.environ.get("REDWELL_PREFIX_FOLDER", ""),
        }
        return replace(settings, **{**read, **given})

    @property
    def slots(self) -> int:
        """Return how many sequences there are, running and kept for reuse."""
        return self.running + self.kept


CELL_TILE = 64
"""Cells of the KV cache that attention reads together (packaging/llama_source/cells.inc)."""

PROCESSOR = "REDWELL_PROCESSOR"
"""Names the library for a kind of processor to load, in place of the best one."""

_VARIANT = "libggml-cpu-"


@lc.llama_log_callback  # type: ignore[untyped-decorator]
def _discard_log(level: int, text: bytes, user_data: ctypes.c_void_p) -> None:
    """Keep the runtime's own chatter off the user's terminal."""


def load_libraries() -> None:
    """Have llama.cpp's libraries ready, so that a model can be loaded in a cage (models.isolation.cage).

    LLVM's OpenMP, which runs its threads, registers itself in a file of /dev/shm when it is first used, and gives up
    where it cannot. The file is removed at once: a process that is killed would leave it there for good.
    """
    _begin()
    if sys.platform == "linux":
        for path in _loaded("libomp", "libiomp5"):
            ctypes.CDLL(path).omp_get_max_threads()
        Path(f"/dev/shm/__KMP_REGISTERED_LIB_{os.getpid()}_{os.getuid()}").unlink(missing_ok=True)


@cache
def _begin() -> None:
    """Begin with llama.cpp, once in a process.

    A runtime built for every processor has a library for each kind of them (packaging/package.py): ggml scores those
    that can run here and takes the best, or REDWELL_PROCESSOR names one. One that was built for this processor has
    nothing to load. Raises ModelError for a kind that is not there or cannot run here.
    """
    lc.llama_log_set(_discard_log, ctypes.c_void_p(0))
    library = lc.llama_cpp._lib  # the one that is loaded finds the ggml that it uses, and not another copy
    if variants := processor_variants():
        chosen = one_of(PROCESSOR, sorted(variants))
        if chosen is None:
            library.ggml_backend_load_all_from_path(os.fsencode(_library_folder()))
        elif not _load(variants[chosen]):
            raise ModelError(
                f"this processor cannot run llama.cpp's library for {chosen}",
                advice=f"Unset {PROCESSOR}: the best one is chosen then.",
            )
    lc.llama_backend_init()


def _load(path: Path) -> bool:
    """Load a library of llama.cpp by itself; False where it cannot be used here."""
    load = lc.llama_cpp._lib.ggml_backend_load
    load.restype = ctypes.c_void_p
    return bool(load(os.fsencode(path)))


@cache
def _begin_with_cards() -> None:
    """Load the libraries for graphics cards that a package brought, once; none where there are none.

    Not before a card is to be used: llama.cpp would compute long prompts there, however few layers it holds.
    """
    _begin()
    for path in sorted((_library_folder() / "cards").glob("libggml-*.so")):
        _load(path)


def processor_variants() -> dict[str, Path]:
    """Return llama.cpp's library for each kind of processor, by its name; none where it was built for one alone."""
    return {path.stem.removeprefix(_VARIANT): path for path in _library_folder().glob(f"{_VARIANT}*.so")}


def processor_variant() -> str:
    """Return the kind of processor that llama.cpp's library was loaded for, "" where it was built for one alone."""
    _begin()
    if not processor_variants():  # and only Linux could say what is loaded
        return ""
    return next((Path(path).stem.removeprefix(_VARIANT) for path in _loaded(_VARIANT)), "")


def _library_folder() -> Path:
    return Path(lc.__file__).parent / "lib"


def _loaded(*names: str) -> set[str]:
    """Return the paths of the libraries of these names that this process has loaded."""
    lines = Path("/proc/self/maps").read_text(encoding="utf-8", errors="surrogateescape").splitlines()
    paths = {line.split(maxsplit=5)[5] for line in lines if line.count("/")}
    return {path for path in paths if Path(path).name.startswith(names)}


_NO_DEVICES = (ctypes.c_void_p * 1)()
"""A list of no devices for llama.cpp, which takes every card it can use otherwise, even for no layer.

The weights would then be laid out for copying to the card, not for this processor's kernels, and long prompts computed
there.
"""


def supports_gpu() -> bool:
    """Say whether the llama.cpp that is installed was built for a graphics card that it can use."""
    _begin_with_cards()
    return bool(lc.llama_supports_gpu_offload())


class LlamaRuntime:
    """A loaded model and its context. Not thread-safe: one thread evaluates."""

    def __init__(self, path: Path, settings: LlamaSettings) -> None:
        """Load the weights; raises WeightsCorrupt, RecurrentModel or NotEnoughMemory with what to do."""
        (_begin_with_cards if settings.gpu_layers else _begin)()
        parameters = lc.llama_model_default_params()
        parameters.n_gpu_layers = settings.gpu_layers or 0
        if not settings.gpu_layers:
            parameters.devices = ctypes.addressof(_NO_DEVICES)
        self._model: Any = lc.llama_model_load_from_file(os.fsencode(path), parameters)
        if not self._model:
            raise WeightsCorrupt(
                f"{path} could not be loaded as a GGUF model",
                advice="Check the file with `redwell models check`, or install the model again.",
            )
        if lc.llama_model_is_recurrent(self._model) or lc.llama_model_is_hybrid(self._model):
            lc.llama_model_free(self._model)
            raise recurrent(path, "llama.cpp says so")
        self.vocabulary: Any = lc.llama_model_get_vocab(self._model)
        self.vocabulary_size: int = lc.llama_vocab_n_tokens(self.vocabulary)
        trained_context: int = lc.llama_model_n_ctx_train(self._model)
        self.settings = settings
        self.cells = min(settings.context_tokens or trained_context, trained_context)
        self._context: Any = lc.llama_init_from_model(self._model, self._context_parameters())
        if not self._context:
            lc.llama_model_free(self._model)
            raise NotEnoughMemory(
                f"no memory for a context of {self.cells} tokens",
                advice="Close other programs, or set REDWELL_CONTEXT_TOKENS to a smaller number.",
            )
        self._memory: Any = lc.llama_get_memory(self._context)
        self._batch: Any = lc.llama_batch_init(settings.batch_tokens, 0, 1)

    def _context_parameters(self) -> Any:
        settings = self.settings
        parameters = lc.llama_context_default_params()
        parameters.n_ctx = self.cells
        parameters.n_batch = parameters.n_ubatch = settings.batch_tokens
        parameters.n_seq_max = settings.slots
        parameters.n_threads = parameters.n_threads_batch = settings.threads or usable_cores()
        parameters.kv_unified = True
        parameters.flash_attn_type = lc.LLAMA_FLASH_ATTN_TYPE_ENABLED
        return parameters

    @property
    def chat_template(self) -> str | None:
        """Return the Jinja chat template stored in the model file, None if it has none."""
        raw = lc.llama_model_chat_template(self._model, None)
        return raw.decode() if raw else None

    def special_text(self, name: str) -> str:
        """Return the text of the special token `name` ("bos" or "eos"), empty if the model has none."""
        token = lc.llama_vocab_bos(self.vocabulary) if name == "bos" else lc.llama_vocab_eos(self.vocabulary)
        if token < 0:
            return ""
        text: bytes = lc.llama_vocab_get_text(self.vocabulary, token)
        return text.decode(errors="replace")

    def tokenize(self, text: str, *, special: bool) -> list[int]:
        """Turn text into tokens; control tokens are read from the text only if `special`."""
        raw = text.encode("utf-8", errors="replace")
        room = len(raw) + 8
        tokens = (lc.llama_token * room)()
        count = lc.llama_tokenize(self.vocabulary, raw, len(raw), tokens, room, False, special)
        if count < 0:
            raise ModelCrashed(f"the tokenizer failed on a text of {len(raw)} bytes")
        return list(tokens[:count])

    def evaluate_tokens(self, items: Sequence[tuple[int, int, int, bool]]) -> list[NDArray[np.float32]]:
        """Evaluate (token, position, sequence, wants logits) items as one batch.

        Return one logits vector per item that wants it, in order: views that are valid until the next call.
        Raises ModelCrashed when the runtime fails.
        """
        batch, count = self._batch, len(items)
        batch.n_tokens = count
        for i, (token, position, sequence, wants_logits) in enumerate(items):
            batch.token[i] = token
            batch.pos[i] = position
            batch.n_seq_id[i] = 1
            batch.seq_id[i][0] = sequence
            batch.logits[i] = wants_logits
        status = lc.llama_decode(self._context, batch)
        if status:
            raise ModelCrashed(
                f"llama.cpp could not evaluate a batch of {count} tokens (status {status})",
                advice="Run the command again: finished replies are kept. If it repeats, use a smaller context.",
            )
        shape = (self.vocabulary_size,)
        return [
            np.ctypeslib.as_array(lc.llama_get_logits_ith(self._context, i), shape=shape)
            for i, item in enumerate(items)
            if item[3]
        ]

    def copy_prefix(self, source: int, target: int, length: int) -> None:
        """Let `target` share the first `length` positions of `source`, at no cost."""
        lc.llama_memory_seq_cp(self._memory, source, target, 0, length)

    def forget(self, sequence: int, start: int = 0) -> None:
        """Drop a sequence's cells from position `start` (inclusive) on. Raises ModelCrashed if llama.cpp refuses."""
        if not lc.llama_memory_seq_rm(self._memory, sequence, start, -1):
            raise ModelCrashed(
                f"llama.cpp could not cut sequence {sequence} back to {start} tokens",
                advice="Run the command again: finished replies are kept. If it repeats, use another model.",
            )

    @property
    def state_format(self) -> str:
        """Name what the states of sequences depend on besides the weights."""
        return f"llama-cpp-python {lc.__version__} f16 gpu {self.settings.gpu_layers or 0}"

    def sequence_state(self, sequence: int) -> bytes:
        """Return all that the cache holds of a sequence; about `kv_bytes_per_token` (models.gguf) for each token."""
        size = lc.llama_state_seq_get_size(self._context, sequence)
        buffer = (ctypes.c_uint8 * size)()
        written = lc.llama_state_seq_get_data(self._context, buffer, size, sequence)
        return bytes(memoryview(buffer)[:written])

    def restore_sequence(self, sequence: int, state: bytes) -> bool:
        """Put a state into an empty sequence; False, leaving it empty, if llama.cpp refuses it."""
        buffer = (ctypes.c_uint8 * len(state)).from_buffer_copy(state)
        if lc.llama_state_seq_set_data(self._context, buffer, len(state), sequence):
            return True
        self.forget(sequence)
        return False

    def close(self) -> None:
        """Free everything; idempotent."""
        if self._context:
            lc.llama_batch_free(self._batch)
            lc.llama_free(self._context)
            lc.llama_model_free(self._model)
            self._context = self._model = None

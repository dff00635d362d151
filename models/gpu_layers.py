"""How many layers of a GGUF model go to the graphics card, by its memory. Imports no runtime.

llama.cpp moves whole layers, the last ones first, each with its part of the KV cache; what follows the last layer goes
when all do. The embedding of the input tokens stays in the machine's memory.

Run as a program (`python -m models.gpu_layers MODEL.gguf`) it says what would be chosen here: one line of JSON.
"""

from __future__ import annotations

import dataclasses
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from models.fence.process import die_with_parent
from models.gguf import TensorBytes, read_header, read_tensor_bytes
from models.hardware import COMPUTE_BASE_BYTES, COMPUTE_BATCH_TOKENS, Gpu, find_gpus, machine_memory
from models.isolation.cage import report

RESERVE_BYTES = 512 * 1024**2
"""Left free on each card: the driver's context and kernels, and what the screen takes meanwhile."""

SHARED_PERCENT = 65
"""Of a memory that processor and card share (Apple silicon), the card may use about two thirds at most."""


@dataclass(frozen=True, slots=True)
class LayerChoice:
    """How many layers the card holds (llama.cpp counts what follows the last one as one more), and why."""

    layers: int
    reason: str


@dataclass(frozen=True, slots=True)
class LayerNeeds:
    """What a model needs on a card, in bytes: `kv_bytes` is the cache of all layers at the context that is wanted."""

    tensors: TensorBytes
    kv_bytes: int
    compute_bytes: int

    @property
    def whole_bytes(self) -> int:
        """Return what all of it takes."""
        return sum(self.tensors.layers) + self.tensors.output + self.kv_bytes + self.compute_bytes


def choose_layers(needs: LayerNeeds, rooms: Sequence[int]) -> LayerChoice:
    """Choose as many layers as the room on the cards (bytes of each) holds: all, some, or 0.

    Layers are not cut and each card computes for itself: a further card loses a layer's bytes and its work space.
    """
    count = len(needs.tensors.layers)
    if count == 0:
        return LayerChoice(0, "the file names no layers")
    lost = max(needs.tensors.layers) + needs.compute_bytes
    room_bytes = max(0, sum(rooms) - (len(rooms) - 1) * lost)
    if needs.whole_bytes <= room_bytes:
        return LayerChoice(count + 1, f"all {count} layers: {_sizes(needs.whole_bytes, room_bytes)}")
    kv = -(-needs.kv_bytes // count)
    used, fitting = needs.compute_bytes, 0
    for layer in reversed(needs.tensors.layers):
        if used + layer + kv > room_bytes:
            break
        used += layer + kv
        fitting += 1
    if fitting == 0:
        least_bytes = used + needs.tensors.layers[-1] + kv
        return LayerChoice(0, f"not one of {count} layers fits: {_sizes(least_bytes, room_bytes)}")
    sizes = _sizes(used, room_bytes)
    return LayerChoice(fitting, f"{fitting} of {count} layers: {sizes}, all need {_gb(needs.whole_bytes)}")


def rooms_on(cards: Sequence[Gpu], available_bytes: int) -> list[int]:
    """Return the bytes that a model may use on each card; `available_bytes` is the machine's free memory."""
    shared = available_bytes * SHARED_PERCENT // 100
    return [max(0, card.free_bytes - RESERVE_BYTES) if card.memory_bytes else shared for card in cards]


def needs_of(path: Path, context_tokens: int | None) -> LayerNeeds:
    """Read from a GGUF file what its layers need; a context of None is the model's own. Raises BadModelFile."""
    header, tensors = read_header(path), read_tensor_bytes(path)
    trained = header.context_tokens
    cells = min(context_tokens or trained, trained) if trained else context_tokens or 0
    compute = COMPUTE_BASE_BYTES + COMPUTE_BATCH_TOKENS * header.vocabulary_size * 4
    return LayerNeeds(tensors, header.kv_bytes_per_token * cells, compute)


def choose_for_machine(path: Path, context_tokens: int | None, *, supports_gpu: Callable[[], bool]) -> LayerChoice:
    """Choose the layers for this machine's cards. `supports_gpu` is asked only where there is a card."""
    cards = find_gpus()
    if not cards:
        return LayerChoice(0, "there is no graphics card")
    if not supports_gpu():
        return LayerChoice(0, "this llama.cpp was built for the processor: see docs/gpu.md")
    return choose_layers(needs_of(path, context_tokens), rooms_on(cards, machine_memory()[1]))


def describe_choice(path: Path) -> LayerChoice:
    """Say what opening a model would choose here, and why. Loads the runtime. Raises ModelError."""
    from models.llama_runtime import LlamaSettings, supports_gpu  # noqa: PLC0415 - the runtime

    settings = LlamaSettings.from_environment()
    if settings.gpu_layers and not supports_gpu():
        wanted = f"REDWELL_GPU_LAYERS is {settings.gpu_layers}"
        return LayerChoice(0, f"{wanted}, but this llama.cpp has no graphics card that it can use: see docs/gpu.md")
    if settings.gpu_layers is not None:
        return LayerChoice(settings.gpu_layers, "REDWELL_GPU_LAYERS says so")
    return choose_for_machine(path, settings.context_tokens, supports_gpu=supports_gpu)


def _sizes(needed: int, room: int) -> str:
    return f"{_gb(needed)} of the {_gb(room)} that may be used"


def _gb(count: int) -> str:
    return f"{count / 1e9:.1f} GB"


if __name__ == "__main__":
    die_with_parent()
    sys.exit(report(lambda: dataclasses.asdict(describe_choice(Path(sys.argv[1])))))

"""GGUF files: the header of a model from anyone, read in this process."""

from __future__ import annotations

import resource
import struct
import time
import traceback
from collections.abc import Sequence
from pathlib import Path
from random import Random

from gguf_files import MODEL, gguf, number, pair, text, texts, weights

from fuzz.inputs import Input, Verdict
from fuzz.mutation import NUMBERS, changed
from models.errors import ModelError
from models.gguf import read_header, read_tensor_bytes
from models.install import models_folder

MOST_MEMORY_KIB = 300 * 1024
"""How much the memory of this process may grow over all inputs."""

_HEAD_BYTES = 30_000
_TOKENS = tuple(
    word.encode()
    for word in (
        "GGUF",
        "general.architecture",
        "general.name",
        "general.alignment",
        "qwen2.context_length",
        "qwen2.block_count",
        "qwen2.embedding_length",
        "qwen2.attention.head_count",
        "qwen2.attention.head_count_kv",
        "qwen2.attention.key_length",
        "tokenizer.ggml.tokens",
        "blk.0.",
        "blk.9999.",
        "token_embd.weight",
        "output.weight",
    )
)


class ModelFileTarget:
    """Headers of model files."""

    name = "gguf"
    batch = 200
    seconds_each = 2.0

    def __init__(self) -> None:
        self._start_kib = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss

    def seeds(self) -> Sequence[Input]:
        """Make headers as the specification says; add the beginning of each installed model."""
        heads = number("qwen2.attention.key_length", 128), texts("tokenizer.ggml.merges", ["a b", "c d"])
        made = [
            gguf(*MODEL),
            gguf(*MODEL, *heads, version=2, tensors=3),
            gguf(*MODEL, *_all_kinds()),
            weights(
                ("blk.0.attn", 0), ("blk.1.attn", 64), ("token_embd.weight", 128), ("output.weight", 256), data=512
            ),
        ]
        real = [_head(path) for path in sorted(models_folder().glob("*.gguf"))]
        return [Input(f"{number}.gguf", data) for number, data in enumerate([*made, *real])]

    def change(self, random: Random, seeds: Sequence[Input]) -> Input:
        """Change bytes and numbers, or write a header of random pairs."""
        if random.random() < 0.15:
            return Input("pairs.gguf", _random_header(random))
        seed = random.choice(seeds)
        return Input(seed.name, changed(random, seed.data, tokens=_TOKENS, others=[other.data for other in seeds]))

    def try_all(self, inputs: Sequence[Input], folder: Path) -> list[Verdict]:
        """Read header and table of tensors of each."""
        return [self._try(item, folder / "model.gguf") for item in inputs]

    def _try(self, item: Input, path: Path) -> Verdict:
        path.write_bytes(item.data)
        started, outcomes = time.monotonic(), []
        for read in (read_header, read_tensor_bytes):
            try:
                read(path)
                outcomes.append("read")
            except ModelError as error:
                outcomes.append("refused")
                if not (str(error) and error.advice):
                    return Verdict("defect", f"an error without message or advice: {error!r}")
            except Exception as error:  # noqa: BLE001 - any other kind is what is looked for
                return Verdict("defect", "".join(traceback.format_exception(error)))
        seconds = time.monotonic() - started
        grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - self._start_kib
        if grown > MOST_MEMORY_KIB:
            self._start_kib += grown
            return Verdict("defect", f"memory grew by {grown // 1024} MiB")
        if seconds > self.seconds_each:
            return Verdict("defect", f"it took {seconds:.1f} s", seconds)
        return Verdict("/".join(outcomes), seconds=seconds)


def _head(path: Path) -> bytes:
    with path.open("rb") as file:
        return file.read(_HEAD_BYTES)


def _all_kinds() -> list[bytes]:
    """Make a value of each type of number, and an array of each."""
    codes = {0: "B", 1: "b", 2: "H", 3: "h", 4: "I", 5: "i", 6: "f", 7: "?", 10: "Q", 11: "q", 12: "d"}
    single = [pair(f"a.{kind}", kind, struct.pack("<" + code, 1)) for kind, code in codes.items()]
    return single + [pair(f"b.{kind}", 9, struct.pack(f"<IQ2{code}", kind, 2, 1, 0)) for kind, code in codes.items()]


def _random_header(random: Random) -> bytes:
    """Write a header whose keys are those that are looked at, with values of any type."""
    pairs = []
    for _ in range(random.randint(1, 12)):
        key = random.choice(_TOKENS).decode()
        kind = random.choice((0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 9, 9, 10, 11, 12, 13, 2**32 - 1))
        value = random.choice((*(struct.pack("<Q", n) for n in NUMBERS), random.randbytes(random.randint(0, 40))))
        if kind == 8:
            value = text(random.choice(("qwen2", "", "x" * 5000, "\u202e")))
        if kind == 9:
            inner, count = random.choice((0, 4, 5, 6, 7, 8, 9, 10, 11, 12)), random.choice((0, 1, 2, 5, 2**63))
            value = struct.pack("<IQ", inner, count) + random.randbytes(random.choice((0, 8, 16, 40)))
        pairs.append(pair(key, kind, value))
    return gguf(*pairs, tensors=random.choice((1, 2, 2**20, 2**63)), version=random.choice((2, 3)))

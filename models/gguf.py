"""Read the header of a GGUF file with suspicion: the file may come from anyone.

Only the metadata and the table of tensors are read, never the weights. Every count and length is checked against what
the file can hold before anything is allocated for it. Format: the GGUF specification, versions 2 and 3, little-endian.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from models.errors import ModelError
from models.model_header import ModelHeader, printable

MAGIC = b"GGUF"
VERSIONS = (2, 3)
MOST_KEYS = 10_000
MOST_TENSORS = 1_000_000
MOST_DIMENSIONS = 4
MOST_LAYERS = 10_000
DEFAULT_ALIGNMENT = 32
MOST_TEXT_BYTES = 16 * 1024 * 1024
MOST_HEADER_BYTES = 256 * 1024 * 1024
MOST_ARRAY_TEXTS = 2_000_000
"""In all arrays together; the largest vocabularies have some hundred thousand tokens."""

MOST_KEPT_CHARACTERS = 4_096
MOST_KEPT_ITEMS = 1_024
"""Longer arrays (the vocabulary) are stepped over: only their length is kept."""

STRING, ARRAY = 8, 9
NUMBERS = {0: "B", 1: "b", 2: "H", 3: "h", 4: "I", 5: "i", 6: "f", 7: "?", 10: "Q", 11: "q", 12: "d"}

STATE_KEYS = ("ssm.", "wkv.", "kda.", "shortconv.", "attention.recurrent_layers")
"""What a header says of layers that keep a running state, after the architecture (llama.cpp, src/llama-arch.cpp)."""

RECURRENT = re.compile(
    r"mamba\d*|jamba|falcon-h1|granitehybrid|lfm2(moe)?|a?rwkv.*|qwen3next|qwen35(moe)?|plamo2|nemotron_h(_moe)?"
    r"|kimi-linear"
)
"""Architectures of which that is known, whatever else their header says."""

READABLE = "Use a .gguf file (version 2 or 3) as published by its maker; download it again if it was cut."
WHOLE = "Choose a file that holds the whole model, or join all parts into one with `llama-gguf-split --merge`."

Value = str | int | float | bool | tuple[int | float | bool, ...] | None


class BadModelFile(ModelError):
    """A file is not a GGUF model that can be read."""

    is_environment = True


class RecurrentModel(BadModelFile):
    """A model folds what it has read into one running state, which cannot be cut back to an earlier place."""


@dataclass(frozen=True, slots=True)
class TensorBytes:
    """Where the bytes of a model's weights lie: layer by layer, and what comes after the last layer.

    `output` are the weights from the last layer to the next token: the embedding once more, where one serves for both.
    """

    layers: tuple[int, ...]
    output: int


class _Reader:
    """Step through a file, refusing to pass its end."""

    def __init__(self, file: BinaryIO, path: Path, size: int) -> None:
        self.file, self.path, self.size = file, path, size
        self.texts_left = MOST_ARRAY_TEXTS

    def fail(self, what: str) -> BadModelFile:
        return BadModelFile(f"{self.path}: {what} (at byte {self.file.tell()} of {self.size})", advice=READABLE)

    def take(self, count: int) -> bytes:
        self.need(count)
        return self.file.read(count)

    def skip(self, count: int) -> None:
        self.need(count)
        self.file.seek(count, 1)

    def need(self, count: int) -> None:
        """Refuse to go beyond the end of the file, or where no header ends: a file of holes may be of any size."""
        end = self.file.tell() + count
        if end > self.size:
            raise self.fail(f"the header asks for {count} bytes more than the file has")
        if end > MOST_HEADER_BYTES:
            raise self.fail(f"the header is larger than {MOST_HEADER_BYTES // 1024**2} MiB")

    def number(self, code: str) -> int | float | bool:
        value: int | float | bool = struct.unpack("<" + code, self.take(struct.calcsize("<" + code)))[0]
        return value

    def count(self, most: int, what: str) -> int:
        value = int(self.number("Q"))
        if value > most:
            raise self.fail(f"the header claims {value} {what}; at most {most} are believable")
        return value

    def text(self) -> str:
        return self.take(self.count(MOST_TEXT_BYTES, "bytes in one text")).decode("utf-8", errors="replace")

    def value(self) -> tuple[Value, int]:
        """Return a value, and its number of items if it is an array (else 0)."""
        kind = int(self.number("I"))
        if kind == STRING:
            return self.text(), 0
        if kind == ARRAY:
            return self.array()
        if kind not in NUMBERS:
            raise self.fail(f"the header has a value of unknown type {kind}")
        return self.number(NUMBERS[kind]), 0

    def array(self) -> tuple[Value, int]:
        kind = int(self.number("I"))
        if kind == STRING:
            length = self.count(min(self.texts_left, self.size // 8), "texts in one array")
            self.texts_left -= length
            for _ in range(length):
                self.skip(self.count(MOST_TEXT_BYTES, "bytes in one text"))
            return None, length
        if kind not in NUMBERS:
            raise self.fail(f"the header has an array of unknown type {kind}")
        width = struct.calcsize("<" + NUMBERS[kind])
        length = self.count(self.size // width, "items in one array")
        if length > MOST_KEPT_ITEMS:
            self.skip(length * width)
            return None, length
        return struct.unpack(f"<{length}{NUMBERS[kind]}", self.take(length * width)), length


def read_header(path: Path) -> ModelHeader:
    """Read and check the metadata of a GGUF file. Raises BadModelFile, RecurrentModel among them."""
    with _opened(path) as reader:
        values, lengths = _read_metadata(reader)
        if said := _says_recurrent(values):
            raise recurrent(path, said)
        return _describe(reader, values, lengths)


def recurrent(path: Path, said: str) -> RecurrentModel:
    """Return the error for a model that cannot be run; `said` is what tells so, such as a key of the header."""
    return RecurrentModel(
        f"{path}: this is a recurrent or hybrid model ({said}). It folds what it has read into one running state, and "
        "Redwell goes back to what several questions share, which needs a cache that can be cut",
        advice="Use a model whose layers all have attention, such as Qwen2.5, Qwen3, Llama 3, Gemma 3 or Mistral.",
    )


def _says_recurrent(values: dict[str, Value]) -> str:
    """Return what of a header says that the model keeps a running state; "" where nothing does."""
    architecture = str(values.get("general.architecture") or "")
    if RECURRENT.fullmatch(architecture):
        return f"general.architecture = {printable(architecture)}"
    begins = tuple(f"{architecture}.{key}" for key in STATE_KEYS)
    said = {key: any(value) if isinstance(value, tuple) else value for key, value in values.items()}
    return printable(next((key for key, value in said.items() if value and key.startswith(begins)), ""))


@contextmanager
def _opened(path: Path) -> Iterator[_Reader]:
    try:
        with path.open("rb") as file:
            yield _Reader(file, path, path.stat().st_size)
    except OSError as error:
        raise BadModelFile(
            f"{path}: {error.strerror or error}", advice="Name a .gguf file that you can read."
        ) from error


def read_tensor_bytes(path: Path) -> TensorBytes:
    """Read from the table of tensors how large each layer is. Raises BadModelFile."""
    with _opened(path) as reader:
        values, _ = _read_metadata(reader)
        offsets = _read_offsets(reader, _tensor_count(reader))
        told = values.get("general.alignment")
        alignment = told if isinstance(told, int) and 0 < told <= 2**20 else DEFAULT_ALIGNMENT
        start = reader.file.tell()
        start += -start % alignment
        return _sum_by_layer(reader, offsets, reader.size - start)


def _tensor_count(reader: _Reader) -> int:
    """Read the number of tensors again, which comes before the metadata; raises BadModelFile where there is none."""
    here = reader.file.tell()
    reader.file.seek(8)
    count = reader.count(MOST_TENSORS, "tensors")
    reader.file.seek(here)
    if count == 0:
        raise reader.fail("the file holds no tensors")
    return count


def _read_offsets(reader: _Reader, count: int) -> list[tuple[int, str]]:
    """Read where each tensor begins, counted from the first, and its name; ascending."""
    offsets = []
    for _ in range(count):
        name = reader.text()
        dimensions = int(reader.number("I"))
        if dimensions > MOST_DIMENSIONS:
            raise reader.fail(f"a tensor has {dimensions} dimensions; at most {MOST_DIMENSIONS} are believable")
        reader.skip(8 * dimensions + 4)
        offsets.append((int(reader.number("Q")), name))
    return sorted(offsets)


def _sum_by_layer(reader: _Reader, offsets: Sequence[tuple[int, str]], size: int) -> TensorBytes:
    """Add up the tensors: one reaches to where the next begins, the last to `size`."""
    layers: dict[int, int] = {}
    others: dict[str, int] = {}
    ends = [offset for offset, _ in offsets[1:]] + [size]
    for (begin, name), end in zip(offsets, ends, strict=True):
        if not begin <= end <= size:
            raise reader.fail(f"a tensor begins at byte {begin} of {size} bytes of weights")
        layer = re.match(r"blk\.([0-9]{1,4})\.", name)
        if layer:
            layers[int(layer[1])] = layers.get(int(layer[1]), 0) + end - begin
        else:
            others[name] = end - begin
    embedding = 0 if "output.weight" in others else others.get("token_embd.weight", 0)
    output = sum(length for name, length in others.items() if name.startswith("output"))
    return TensorBytes(tuple(layers[layer] for layer in sorted(layers)), output + embedding)


def _read_metadata(reader: _Reader) -> tuple[dict[str, Value], dict[str, int]]:
    if reader.take(min(4, reader.size)) != MAGIC:
        raise reader.fail("this is not a GGUF file (its first four bytes are not 'GGUF')")
    version = reader.number("I")
    if version not in VERSIONS:
        raise reader.fail(f"GGUF version {version} is not supported; versions {VERSIONS} are")
    reader.count(MOST_TENSORS, "tensors")
    values: dict[str, Value] = {}
    lengths: dict[str, int] = {}
    for _ in range(reader.count(MOST_KEYS, "metadata keys")):
        key = reader.text()
        value, lengths[key] = reader.value()
        if not isinstance(value, str) or len(value) <= MOST_KEPT_CHARACTERS:
            values[key] = value
    return values, lengths


def _describe(reader: _Reader, values: dict[str, Value], lengths: dict[str, int]) -> ModelHeader:
    parts, part = values.get("split.count"), values.get("split.no")
    if isinstance(parts, int) and parts > 1:
        which = f"part {part + 1}" if isinstance(part, int) else "one part"
        raise BadModelFile(f"{reader.path}: this is {which} of a model in {parts} files", advice=WHOLE)
    _tensor_count(reader)  # asked after that: the first of several files may hold the metadata alone
    architecture = str(values.get("general.architecture") or "")

    def number(key: str) -> int:
        value = values.get(f"{architecture}.{key}")
        return value if isinstance(value, int) and not isinstance(value, bool) and value > 0 else 0

    if (layers := number("block_count")) > MOST_LAYERS:
        raise reader.fail(f"the header claims {layers} layers; at most {MOST_LAYERS} are believable")
    return ModelHeader(
        name=printable(values.get("general.name")),
        licence=printable(values.get("general.license")),
        context_tokens=number("context_length"),
        kv_bytes_per_token=_kv_bytes_per_token(values, architecture, layers),
        vocabulary_size=lengths.get("tokenizer.ggml.tokens", 0),
    )


def _kv_bytes_per_token(values: dict[str, Value], architecture: str, layers: int) -> int:
    """Work out the KV cache of one token at 16 bits: layers x KV heads x (key + value size) x 2 bytes.

    0 where the header does not say, or says what is no count.
    """

    def per_layer(key: str) -> list[int]:
        value = values.get(f"{architecture}.attention.{key}")
        counts = value if isinstance(value, tuple) else (value,) * layers
        return [int(count) for count in counts if isinstance(count, int)]

    heads = per_layer("head_count")
    kv_heads = per_layer("head_count_kv") or heads
    width = values.get(f"{architecture}.embedding_length")
    if not heads or not isinstance(width, int):
        return 0
    head_size = width // max(1, *heads)
    key_size = max(per_layer("key_length") or [head_size])
    value_size = max(per_layer("value_length") or [head_size])
    if min(*kv_heads, key_size, value_size) < 0:
        return 0
    return sum(kv_heads) * (key_size + value_size) * 2

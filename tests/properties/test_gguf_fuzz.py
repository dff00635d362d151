"""Any bytes at all are a header or an error, never a crash, a hang or much memory."""

from __future__ import annotations

import struct
import tracemalloc
from functools import cache
from pathlib import Path

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from models.cache_place import models_folder
from models.gguf import BadModelFile, read_header
from models.model_header import ModelHeader

REAL = models_folder() / "smollm2-135m-instruct-q4_1.gguf"
REAL_BYTES = 100_000
MOST_MEMORY_BYTES = 64 * 1024**2
"""Peak while a header is read; its longest believable text is 16 MiB, which is held as bytes and as characters."""

NUMBERS = [0, 1, 2**16 - 1, 2**31 - 1, 2**31, 2**32 - 1, 2**40, 2**63 - 1, 2**63, 2**64 - 1]


def text(value: bytes) -> bytes:
    return struct.pack("<Q", len(value)) + value


def synthetic() -> bytes:
    """A small header with a value of each type, written as the format's specification says."""
    pairs = [
        (b"general.architecture", 8, text(b"x")),
        (b"general.name", 8, text(b"A name")),
        (b"general.license", 8, text(b"mit")),
        (b"x.context_length", 4, struct.pack("<I", 4096)),
        (b"x.block_count", 4, struct.pack("<I", 3)),
        (b"x.embedding_length", 4, struct.pack("<I", 64)),
        (b"x.attention.head_count", 4, struct.pack("<I", 4)),
        (b"x.attention.head_count_kv", 9, struct.pack("<IQ3i", 5, 3, 4, 2, 2)),
        (b"a.byte", 0, b"\1"),
        (b"a.float", 6, struct.pack("<f", 1.5)),
        (b"a.yes", 7, b"\1"),
        (b"a.long", 10, struct.pack("<Q", 7)),
        (b"a.double", 12, struct.pack("<d", 2.5)),
        (b"tokenizer.ggml.tokens", 9, struct.pack("<IQ", 8, 3) + text(b"a") + text(b"b") + text(b"cd")),
        (b"tokenizer.ggml.scores", 9, struct.pack("<IQ3f", 6, 3, 0.0, 1.0, 2.0)),
    ]
    body = b"".join(text(key) + struct.pack("<I", kind) + value for key, kind, value in pairs)
    return b"GGUF" + struct.pack("<IQQ", 3, 1, len(pairs)) + body + bytes(64)


@cache
def real() -> bytes:
    """The beginning of a published model, where it is installed."""
    with REAL.open("rb") as file:
        return file.read(REAL_BYTES)


SEEDS = ["synthetic", pytest.param("real", marks=pytest.mark.skipif(not REAL.is_file(), reason=f"no {REAL.name} here"))]

Changes = list[tuple[float, bytes, str]]

CHANGES = st.lists(
    st.tuples(
        st.floats(0, 1),
        st.one_of(
            st.binary(min_size=1, max_size=12),
            st.sampled_from(NUMBERS).map(lambda n: struct.pack("<Q", n)),
            st.sampled_from(NUMBERS).map(lambda n: struct.pack("<I", n & 0xFFFFFFFF)),
        ),
        st.sampled_from(["overwrite", "insert", "cut out", "cut off"]),
    ),
    max_size=6,
)


def changed(data: bytes, changes: Changes) -> bytes:
    for share, piece, how in changes:
        at = int(share * len(data))
        match how:
            case "overwrite":
                data = data[:at] + piece + data[at + len(piece) :]
            case "insert":
                data = data[:at] + piece + data[at:]
            case "cut out":
                data = data[:at] + data[at + len(piece) :]
            case _:
                data = data[:at]
    return data


def read(path: Path, data: bytes) -> ModelHeader | None:
    """Read a file of these bytes: a sound header, or None for an error that says where and what to do."""
    path.write_bytes(data)
    tracemalloc.start()
    try:
        header = read_header(path)
    except BadModelFile as error:
        assert path.name in str(error)
        assert error.advice
        return None
    finally:
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert peak < MOST_MEMORY_BYTES
    assert all(number >= 0 for number in (header.context_tokens, header.layers, header.vocabulary_size))
    assert header.kv_bytes_per_token >= 0
    assert all(c.isprintable() for c in header.name + header.licence)
    return header


@pytest.mark.parametrize("seed", SEEDS)
@settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(changes=CHANGES)
@example(changes=[])
def test_a_changed_header_is_read_or_refused(
    tmp_path: Path, seed: str, changes: list[tuple[float, bytes, str]]
) -> None:
    header = read(tmp_path / "m.gguf", changed(synthetic() if seed == "synthetic" else real(), changes))
    if not changes and seed == "synthetic":
        assert header == ModelHeader("A name", "mit", "x", 4096, 3, (4 + 2 + 2) * (16 + 16) * 2, 3)


@settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.binary(max_size=200))
def test_any_bytes_behind_a_true_beginning_are_read_or_refused(tmp_path: Path, data: bytes) -> None:
    read(tmp_path / "m.gguf", b"GGUF" + struct.pack("<IQQ", 3, 1, 3) + data)
    read(tmp_path / "m.gguf", data)


@pytest.mark.parametrize("kind", [0, 4, 8, 10])
def test_the_most_that_a_large_file_may_claim_costs_little(tmp_path: Path, kind: int) -> None:
    """A file of holes: a terabyte by its size, nothing on the disk, and counts that its size makes believable."""
    path = tmp_path / "m.gguf"
    claim = text(b"k") + struct.pack("<IIQ", 9, kind, 2**36)
    head = b"GGUF" + struct.pack("<IQQ", 3, 1, 10_000) + claim
    path.write_bytes(head)
    with path.open("r+b") as file:
        file.truncate(2**40)
    tracemalloc.start()
    try:
        with pytest.raises(BadModelFile):
            read_header(path)
        assert tracemalloc.get_traced_memory()[1] < MOST_MEMORY_BYTES
    finally:
        tracemalloc.stop()

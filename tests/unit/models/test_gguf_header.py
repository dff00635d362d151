"""GGUF headers, written here byte by byte as the format's specification says."""

from __future__ import annotations

import struct
from pathlib import Path

import pytest

from models.gguf import BadModelFile, read_header

U32, I32, TEXT, ARRAY = 4, 5, 8, 9


def text(value: str) -> bytes:
    raw = value.encode()
    return struct.pack("<Q", len(raw)) + raw


def pair(key: str, kind: int, value: bytes) -> bytes:
    return text(key) + struct.pack("<I", kind) + value


def number(key: str, value: int) -> bytes:
    return pair(key, U32, struct.pack("<I", value))


def gguf(*pairs: bytes, magic: bytes = b"GGUF", version: int = 3, tensors: int = 1, keys: int | None = None) -> bytes:
    count = len(pairs) if keys is None else keys
    return magic + struct.pack("<IQQ", version, tensors, count) + b"".join(pairs) + bytes(64)


def texts(key: str, values: list[str]) -> bytes:
    return pair(key, ARRAY, struct.pack("<IQ", TEXT, len(values)) + b"".join(map(text, values)))


MODEL = (
    pair("general.architecture", TEXT, text("qwen2")),
    pair("general.name", TEXT, text("A \x1b[31mred\x1b[0m name")),
    pair("general.license", TEXT, text("apache-2.0")),
    number("qwen2.context_length", 32768),
    number("qwen2.block_count", 28),
    number("qwen2.embedding_length", 1536),
    number("qwen2.attention.head_count", 12),
    number("qwen2.attention.head_count_kv", 2),
    texts("tokenizer.ggml.tokens", ["a", "b", "cd"]),
)


def write(folder: Path, data: bytes) -> Path:
    path = folder / "model.gguf"
    path.write_bytes(data)
    return path


def test_reads_what_a_model_says_of_itself(tmp_path):
    header = read_header(write(tmp_path, gguf(*MODEL)))
    assert header.name == "A [31mred[0m name"  # nothing that a terminal would obey
    assert (header.licence, header.architecture) == ("apache-2.0", "qwen2")
    assert (header.context_tokens, header.layers, header.vocabulary_size) == (32768, 28, 3)
    assert header.kv_bytes_per_token == 28 * 2 * (128 + 128) * 2


def test_kv_heads_may_differ_by_layer(tmp_path):
    heads = struct.pack("<IQ3i", I32, 3, 4, 0, 2)
    pairs = (
        pair("general.architecture", TEXT, text("x")),
        number("x.block_count", 3),
        number("x.embedding_length", 64),
        number("x.attention.head_count", 4),
        pair("x.attention.head_count_kv", ARRAY, heads),
    )
    assert read_header(write(tmp_path, gguf(*pairs))).kv_bytes_per_token == (4 + 0 + 2) * (16 + 16) * 2


@pytest.mark.parametrize(
    ("data", "complaint"),
    [
        (b"", "not a GGUF file"),
        (b"%PDF-1.7 and so on", "not a GGUF file"),
        (gguf(*MODEL, version=1), "version 1 is not supported"),
        (gguf(*MODEL, version=3 << 24), "is not supported"),
        (gguf(*MODEL, tensors=0), "no tensors"),
        (gguf(*MODEL, tensors=2**60), "tensors; at most"),
        (gguf(*MODEL, keys=2**60), "metadata keys; at most"),
        (gguf(text("k")[:-1] + b"\xff", keys=9), "more than the file has|unknown type"),
        (gguf(pair("k", TEXT, struct.pack("<Q", 2**40))), "bytes in one text"),
        (gguf(pair("k", TEXT, struct.pack("<Q", 2**20))), "more than the file has"),
        (gguf(pair("k", 99, b"")), "unknown type 99"),
        (gguf(pair("k", ARRAY, struct.pack("<IQ", TEXT, 2**50))), "texts in one array"),
        (gguf(pair("k", ARRAY, struct.pack("<IQ", U32, 2**50))), "items in one array"),
        (gguf(pair("k", ARRAY, struct.pack("<IQ", ARRAY, 1))), "unknown type 9"),
        (gguf(*MODEL)[:40], "more than the file has"),
    ],
)
def test_a_hostile_or_broken_file_is_refused_with_the_place(tmp_path, data, complaint):
    with pytest.raises(BadModelFile, match=complaint) as caught:
        read_header(write(tmp_path, data))
    assert "model.gguf" in str(caught.value)
    assert caught.value.advice


def test_a_folder_or_missing_file_is_named(tmp_path):
    for path in (tmp_path, tmp_path / "absent.gguf"):
        with pytest.raises(BadModelFile, match=path.name):
            read_header(path)

"""GGUF headers, written here byte by byte as the format's specification says."""

from __future__ import annotations

import struct
import tracemalloc
from pathlib import Path

import pytest
from gguf_files import ARRAY, F32, I32, MODEL, TEXT, U32, gguf, number, pair, text, weights

from models.gguf import BadModelFile, RecurrentModel, TensorBytes, read_header, read_tensor_bytes


def write(folder: Path, data: bytes) -> Path:
    path = folder / "model.gguf"
    path.write_bytes(data)
    return path


def test_reads_what_a_model_says_of_itself(tmp_path):
    header = read_header(write(tmp_path, gguf(*MODEL)))
    assert header.name == "A [31mred[0m name"  # nothing that a terminal would obey
    assert header.licence == "apache-2.0"
    assert (header.context_tokens, header.vocabulary_size) == (32768, 3)
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
    ("key", "value", "expected"),
    [
        ("head_count_kv", struct.pack("<IQ2f", F32, 2, float("inf"), 1.0), 28 * 12 * (128 + 128) * 2),
        ("head_count_kv", struct.pack("<IQ2i", I32, 2, -4, 2), 0),
        ("key_length", struct.pack("<IQ1i", I32, 1, -4), 0),
    ],
)
def test_what_is_no_count_counts_as_not_said(tmp_path, key, value, expected):
    changed = pair(f"qwen2.attention.{key}", ARRAY, value)
    others = [p for p in MODEL if f"attention.{key}".encode() + struct.pack("<I", U32) not in p]
    assert read_header(write(tmp_path, gguf(*others, changed))).kv_bytes_per_token == expected


@pytest.mark.parametrize(
    ("data", "complaint"),
    [
        (gguf(*MODEL, number("qwen2.block_count", 2**32 - 1)), "4294967295 layers; at most 10000 are believable"),
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


def test_one_part_of_a_model_is_refused_and_a_model_of_one_part_is_not(tmp_path):
    assert read_header(write(tmp_path, gguf(*MODEL, number("split.count", 1)))).context_tokens == 32768
    several = number("split.count", 3)
    first, second = (*MODEL, number("split.no", 0), several), (number("split.no", 1), several)
    for data, complaint in (
        (gguf(*MODEL, several), "one part of a model in 3 files$"),
        (gguf(*first, tensors=0), "part 1 of a model in 3 files$"),  # it holds the metadata alone
        (gguf(*second), "part 2 of a model in 3 files$"),
    ):
        with pytest.raises(BadModelFile, match=complaint) as caught:
            read_header(write(tmp_path, data))
        assert "llama-gguf-split --merge" in caught.value.advice


def of(architecture: str, *pairs: bytes) -> bytes:
    return gguf(pair("general.architecture", TEXT, text(architecture)), *pairs)


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (of("mamba2"), "general.architecture = mamba2"),
        (of("rwkv7"), "general.architecture = rwkv7"),
        (of("rwkv6qwen2"), "general.architecture = rwkv6qwen2"),
        (of("qwen3next", number("qwen3next.ssm.state_size", 128)), "general.architecture = qwen3next"),
        (of("qwen35moe"), "general.architecture = qwen35moe"),
        (of("granitehybrid"), "general.architecture = granitehybrid"),
        (of("jamba"), "general.architecture = jamba"),
        (of("lfm2"), "general.architecture = lfm2"),
        (of("falcon-h1"), "general.architecture = falcon-h1"),
        (of("nemotron_h"), "general.architecture = nemotron_h"),
        # architectures of tomorrow, known by what their layers keep
        (of("new", number("new.ssm.state_size", 16)), "new.ssm.state_size"),
        (of("new", number("new.shortconv.l_cache", 3)), "new.shortconv.l_cache"),
        (of("new", number("new.wkv.head_size", 64)), "new.wkv.head_size"),
        (of("new", number("new.kda.head_dim", 128)), "new.kda.head_dim"),
        (
            of("new", pair("new.attention.recurrent_layers", ARRAY, struct.pack("<IQ2i", I32, 2, 0, 1))),
            "new.attention.recurrent_layers",
        ),
    ],
)
def test_a_model_with_a_running_state_is_refused_with_what_says_so(tmp_path, data, said):
    with pytest.raises(RecurrentModel, match="recurrent or hybrid") as caught:
        read_header(write(tmp_path, data))
    assert said in str(caught.value)
    assert "model.gguf" in str(caught.value)
    assert caught.value.advice


@pytest.mark.parametrize(
    "pairs",
    [
        (number("granite.ssm.state_size", 0),),
        (pair("granite.attention.recurrent_layers", ARRAY, struct.pack("<IQ2i", I32, 2, 0, 0)),),
        (number("other.ssm.state_size", 16),),
    ],
)
def test_a_state_of_no_size_or_of_another_architecture_is_none(tmp_path, pairs):
    read_header(write(tmp_path, of("granite", *pairs)))


def test_a_folder_or_missing_file_is_named(tmp_path):
    for path in (tmp_path, tmp_path / "absent.gguf"):
        with pytest.raises(BadModelFile, match=path.name):
            read_header(path)


def test_the_bytes_of_each_layer_reach_to_the_next_tensor(tmp_path):
    file = weights(
        ("token_embd.weight", 0),
        ("blk.0.attn_q.weight", 1000),
        ("blk.0.ffn_up.weight", 1300),
        ("blk.1.attn_q.weight", 2000),
        ("output_norm.weight", 2600),
        ("output.weight", 2650),
        data=3000,
    )
    assert read_tensor_bytes(write(tmp_path, file)) == TensorBytes((1000, 600), 400)


def test_an_embedding_that_also_writes_counts_once_more(tmp_path):
    file = weights(("blk.0.w", 0), ("output_norm.weight", 100), ("token_embd.weight", 132), data=200, alignment=64)
    assert read_tensor_bytes(write(tmp_path, file)) == TensorBytes((100,), 32 + 68)


@pytest.mark.parametrize(
    ("data", "complaint"),
    [
        (weights(("blk.0.w", 9999), data=100), "begins at byte 9999"),
        (weights(("blk.0.w", 2**63), data=100), "begins at byte"),
        (weights(("blk.0.w", 0), data=100, dimensions=5), "5 dimensions"),
        (weights(("blk.0.w", 0), data=0)[:-40], "more than the file has"),
        (gguf(*MODEL, tensors=0), "no tensors"),
    ],
)
def test_a_table_that_lies_is_an_error(tmp_path, data, complaint):
    with pytest.raises(BadModelFile, match=complaint):
        read_tensor_bytes(write(tmp_path, data))


@pytest.mark.parametrize("kind", [0, 4, 8, 10])
def test_the_most_that_a_large_file_may_claim_costs_little(tmp_path, kind):
    """A file of holes: a terabyte by its size, nothing on the disk, and counts that its size makes believable."""
    path = write(
        tmp_path, b"GGUF" + struct.pack("<IQQ", 3, 1, 10_000) + text("k") + struct.pack("<IIQ", 9, kind, 2**36)
    )
    with path.open("r+b") as file:
        file.truncate(2**40)
    tracemalloc.start()
    try:
        with pytest.raises(BadModelFile):
            read_header(path)
        assert tracemalloc.get_traced_memory()[1] < 64 * 1024**2
    finally:
        tracemalloc.stop()

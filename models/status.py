"""What `models list` says of a model: the catalogue's and the user's own, installed or not."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from models.catalog import CatalogEntry
from models.gguf import BadModelFile, read_header
from models.hardware import MemoryEstimate
from models.model_folder import BadModelFolder, read_folder
from models.model_header import ModelHeader, Needs
from models.own_models import id_of, source_of
from models.placing import size_of
from models.verification import digest_of, remembered_hash


@dataclass(frozen=True, slots=True)
class ModelStatus:
    """One line of `models list`. `available_bytes` of memory are free now.

    `source` says where the file is from. `sha256` is "" for a file of the user's own that was never hashed; of a folder
    it is that of the list of its files. `problem` says why it cannot be used, "" if it can.
    """

    id: str
    title: str
    kind: str
    purpose: str
    licence: str
    bytes: int
    is_default: bool
    installed: bool
    path: Path
    needs: Needs
    available_bytes: int
    made_by: str = ""
    source: str = ""
    sha256: str = ""
    problem: str = ""

    @property
    def is_broken(self) -> bool:
        """Say whether it cannot be used: no model, or one of a kind that Redwell does not run."""
        return bool(self.problem)

    @property
    def context_tokens(self) -> int:
        """Return the model's own context; 0 where its files do not say."""
        return self.needs.context_tokens

    @property
    def memory(self) -> MemoryEstimate:
        """Estimate the memory with the model's whole context."""
        return self.needs.memory(self.context_tokens, self.available_bytes)


def entry_status(root: Path, entry: CatalogEntry, available_bytes: int) -> ModelStatus:
    """Describe a model of the catalogue, installed or not."""
    return ModelStatus(
        id=entry.id,
        title=entry.title,
        kind=entry.kind,
        purpose=entry.purpose,
        licence=entry.licence,
        bytes=entry.bytes,
        is_default=entry.is_default,
        installed=all((root / file.path).is_file() for file in entry.files),
        path=root / entry.place,
        needs=Needs.of(entry, entry.bytes),
        available_bytes=available_bytes,
        made_by=entry.made_by,
        source=f"packaged by {entry.packaged_by}: {_packages(entry)}",
        sha256=digest_of(entry.files),
    )


def _packages(entry: CatalogEntry) -> str:
    first, last = entry.parts[0], entry.parts[-1]
    return first.requirement if first == last else f"{first.package} to {last.package}, {first.version}"


def own_status(path: Path, root: Path, available_bytes: int) -> ModelStatus:
    """Describe a user's own file or folder; one that is no model is described as broken."""
    is_folder, problem = path.is_dir(), ""
    purpose = "your own folder, run by vLLM" if is_folder else "your own file"
    header: ModelHeader
    try:
        header = read_folder(path) if is_folder else read_header(path)
    except (BadModelFile, BadModelFolder) as error:
        header, problem = ModelHeader("", "", 0, 0, 0), str(error)
    pinned = source_of(path)
    size = size_of(path)
    return ModelStatus(
        id=id_of(path),
        title=header.name or id_of(path),
        kind="language",
        purpose=purpose,
        licence=header.licence or "not stated",
        bytes=size,
        is_default=False,
        installed=True,
        path=path,
        needs=Needs.of(header, size),
        available_bytes=available_bytes,
        source="{source} at commit {commit}".format(**pinned) if pinned else "added by you",
        sha256=remembered_hash(path, root),
        problem=problem,
    )

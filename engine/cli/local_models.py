"""The models of this machine, as a run asks for them. No runtime is imported until a model is opened."""

from __future__ import annotations

import threading
from pathlib import Path

from engine.errors import EnvironmentMissing
from engine.executor.model_pool import TextEmbedder
from models.catalog import CatalogEntry, catalog, default_entry
from models.install import embedding_folder, find_model, list_models, models_folder
from models.isolation.backend import IsolatedBackend
from models.opening import ModelSpec
from models.protocol import ModelBackend


class LocalModels:
    """The models of one run (engine.worker.jobs.Models)."""

    def __init__(self) -> None:
        self._stand_ins: dict[str, str] = {}
        self._open: dict[Path, ModelBackend] = {}
        self._loading = threading.Lock()

    def stand_in(self, name: str, *, is_chosen: bool) -> str:
        """Return the default model's id for a name that no local model can have (gpt-4o-mini), else "".

        Raises EnvironmentMissing when the model that would be used is not installed.
        """
        if is_here(name):
            return ""
        entry = _known(name)
        if entry is not None or is_chosen or name.endswith(".gguf"):
            raise _missing(entry, name)
        default = default_entry()
        if not _is_installed(default):
            raise _missing(default, default.id)
        self._stand_ins[name] = default.id
        return default.id

    def need_embedder(self) -> None:
        """Raise EnvironmentMissing unless the embedding model is installed."""
        entry = default_entry("embedding")
        if not _is_installed(entry):
            raise _missing(entry, entry.id)

    def open_model(self, name: str) -> ModelBackend:
        """Verify a model and load it in a process of its own; the same weights once, whatever they are called.

        Raises models.errors.ModelError.
        """
        found = find_model(self._stand_ins.get(name, name))
        with self._loading:
            if found.path not in self._open:
                title = found.entry.id if found.entry else found.path.stem
                path = str(found.path.absolute())
                self._open[found.path] = IsolatedBackend(ModelSpec("llama", title, path, found.sha256))
            return self._open[found.path]

    def open_embedder(self) -> TextEmbedder:
        """Open the embedding model; raises models.errors.ModelError."""
        from models.embeddings import Embedder  # noqa: PLC0415 - numpy

        return Embedder(embedding_folder())


def open_model(name: str) -> ModelBackend:
    """Load one model by itself, or its stand-in; raises EnvironmentMissing or models.errors.ModelError."""
    models = LocalModels()
    models.stand_in(name, is_chosen=False)
    return models.open_model(name)


def open_embedder() -> TextEmbedder:
    """Open the embedding model; raises models.errors.ModelError."""
    return LocalModels().open_embedder()


def is_here(name: str) -> bool:
    """Say whether a name is that of an installed model or of a file; "" is the default model."""
    entry = _known(name)
    if entry is not None:
        return _is_installed(entry)
    own = {label for path in models_folder().glob("*.gguf") for label in (path.name, path.stem)}
    return name in own or Path(name).expanduser().is_file()


def _known(name: str) -> CatalogEntry | None:
    """Find the language model of the catalogue that goes by this name."""
    if not name:
        return default_entry()
    names = ((entry, (entry.id, entry.place, entry.title.lower())) for entry in catalog() if entry.kind == "language")
    return next((entry for entry, labels in names if name.lower() in labels), None)


def _is_installed(entry: CatalogEntry) -> bool:
    return all((models_folder() / file.path).is_file() for file in entry.files)


def _missing(entry: CatalogEntry | None, name: str) -> EnvironmentMissing:
    if entry is None:
        here = ", ".join(status.id for status in list_models() if status.installed and status.kind == "language")
        return EnvironmentMissing(
            f"there is no model {name!r} on this machine",
            advice=f"Here: {here or 'none'}. Name one of them, a GGUF file, or see `redwell models list`.",
        )
    return EnvironmentMissing(
        f"the model {entry.id} is not installed",
        advice=f"Install it: `redwell models install {entry.id}` ({entry.bytes / 1e6:,.0f} MB).",
    )

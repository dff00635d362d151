"""The models of this machine, as a run asks for them. No runtime is imported until a model is opened."""

from __future__ import annotations

import os
import threading
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from engine.errors import EnvironmentMissing, UsageError
from engine.executor.model_pool import TextEmbedder
from engine.executor.settings import RunSettings
from engine.executor.translation import redwell_errors
from models.cache_place import models_folder
from models.catalog import CatalogEntry, catalog, default_entry
from models.errors import ModelError
from models.install import FOLDER_PREFIX, default_model, find_model, list_models, other_embeddings
from models.isolation.backend import IsolatedBackend
from models.model_folder import is_model_folder
from models.opening import open_here
from models.paths import expanded
from models.placing import link_bundled_models
from models.protocol import ModelBackend, ModelSpec, runtime_of
from models.rates import layout_of
from models.servers.remembered import RememberedServer, find_server

if TYPE_CHECKING:
    from models.cluster.backend import Cluster

CLUSTER = "REDWELL_CLUSTER"
"""Names the cluster of runs that are not given one (docs/cluster.md)."""


class LocalModels:
    """The models of one run (engine.worker.jobs.Models)."""

    def __init__(self) -> None:
        self._stand_ins: dict[str, str] = {}
        self._open: dict[Path, ModelBackend] = {}
        self._servers: dict[tuple[str, str], ModelBackend] = {}
        self._loading = threading.Lock()
        self._allowed: tuple[str, ...] = ()
        self._where = os.environ.get(CLUSTER, "").strip()
        self._cluster: Cluster | None = None

    def apply(self, settings: RunSettings) -> None:
        """Ask models at the hosts that are allowed and on the cluster that is named; raises UsageError for neither."""
        from models.addresses import read_allowed, read_cluster  # noqa: PLC0415 - few runs leave this machine

        try:
            if settings.allow_hosts:
                self._allowed = tuple(str(place) for place in read_allowed(settings.allow_hosts))
            if settings.cluster:
                self._where = str(read_cluster(settings.cluster))
        except ModelError as error:
            raise UsageError(str(error), advice=error.advice) from error

    def stand_in(self, name: str, *, is_chosen: bool) -> str:
        """Return the default model's id for a name that no local model can have (gpt-4o-mini), else "".

        Raises EnvironmentMissing when the model that would be used is not installed, or the cluster cannot be used.
        """
        self._need_cluster()
        if is_here(name):
            return ""
        if (server := _server(name)) is not None:
            self._need_server(server)
            return ""
        entry = _known(name)
        if entry is not None or is_chosen or name.endswith(".gguf") or name.startswith(FOLDER_PREFIX):
            raise _missing(entry, name)
        default = default_model()
        if not is_here(default):
            raise _missing(_known(default), default)
        self._stand_ins[name] = default
        return default

    def need_embedder(self) -> None:
        """Raise EnvironmentMissing unless the embedding model is installed, or another one is named."""
        entry = default_entry("embedding")
        if other_embeddings() is None and not _is_installed(entry):
            raise _missing(entry, entry.id)

    def open_model(self, name: str) -> ModelBackend:
        """Verify a model and load it in a process of its own; the same weights once, whatever they are called.

        Raises models.errors.ModelError.
        """
        server = None if is_here(name) else find_server(name)
        if server is not None:
            return self._open_server(server)
        model = find_model(self._stand_ins.get(name, name))
        with self._loading:
            if model.path not in self._open:
                title = model.entry.id if model.entry else model.path.name.removesuffix(".gguf")
                spec = ModelSpec(runtime_of(model.path), title, str(model.path.absolute()), model.sha256)
                spec = replace(spec, settings={"layout": layout_of(model)})
                self._need_cluster()
                self._open[model.path] = self._cluster.open(spec) if self._cluster else IsolatedBackend(spec)
            return self._open[model.path]

    def _open_server(self, server: RememberedServer) -> ModelBackend:
        key = (server.name, server.location)
        settings = {**server.settings, "allowed": list(self._allowed)}
        with self._loading:
            if key not in self._servers:
                self._servers[key] = open_here(ModelSpec("server", server.name, server.location, "", settings))
            return self._servers[key]

    def _need_server(self, server: RememberedServer) -> None:
        """Raise EnvironmentMissing unless a server may be asked and answers."""
        from models.servers.backend import look_at_server  # noqa: PLC0415 - the HTTP client

        with redwell_errors():
            look_at_server(server.location, self._allowed)

    def _need_cluster(self) -> None:
        """Raise EnvironmentMissing for a cluster that may not be asked, or without Ray; nothing is started."""
        if not self._where or self._cluster:
            return
        from models.addresses import read_allowed, read_cluster  # noqa: PLC0415 - few runs use a cluster
        from models.cluster.backend import Cluster  # noqa: PLC0415

        with redwell_errors():
            self._cluster = Cluster(read_cluster(self._where), allowed=read_allowed(self._allowed))

    def open_embedder(self) -> TextEmbedder:
        """Open the embedding model; raises models.errors.ModelError."""
        from models.embeddings import chosen_embedder  # noqa: PLC0415 - numpy

        return chosen_embedder()


def is_here(name: str) -> bool:
    """Say whether a name is that of an installed model or of a file; "" is the default model."""
    name = name or default_model()
    entry = _known(name)
    if entry is not None:
        return _is_installed(entry)
    names = {label for path in models_folder().glob("*.gguf") for label in (path.name, path.stem)}
    path = expanded(name.removeprefix(FOLDER_PREFIX))
    return name in names or path.is_file() or is_model_folder(path) or is_model_folder(models_folder() / path)


def _server(name: str) -> RememberedServer | None:
    """Find the server that a name means; raises EnvironmentMissing for an address that is none."""
    with redwell_errors():
        return find_server(name)


def _known(name: str) -> CatalogEntry | None:
    """Find the language model of the catalogue that goes by this name."""
    name = name or default_model()
    names = ((entry, (entry.id, entry.place, entry.title.lower())) for entry in catalog() if entry.kind == "language")
    return next((entry for entry, labels in names if name.lower() in labels), None)


def _is_installed(entry: CatalogEntry) -> bool:
    link_bundled_models()
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

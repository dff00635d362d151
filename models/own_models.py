"""The user's own models among those kept here: their names, and where a downloaded one is from."""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path

from models.cache_place import write_private
from models.catalog import catalog
from models.errors import ModelError
from models.model_folder import is_model_folder
from models.servers.remembered import list_servers

CHOICE = "default.txt"
"""Names the model that is used when none is named, in the folder of models."""


def own_models(root: Path) -> list[Path]:
    """List the user's own models: the files and folders in the folder that are not the catalogue's."""
    known = {entry.place for entry in catalog()}
    folders = [path for path in root.glob("*/") if is_model_folder(path)]
    return sorted(path for path in (*root.glob("*.gguf"), *folders) if path.name not in known)


def id_of(path: Path) -> str:
    """Return what a user's own model is called."""
    return path.name if path.is_dir() else path.stem


def checked_name(name: str) -> str:
    """Check the name of a user's own model; raises ModelError."""
    name = name.removesuffix(".gguf")
    if not re.fullmatch(r"[^\s/\\:.-][^/\\:\0-\x1f]{0,127}", name) or is_reserved(name):
        raise ModelError(
            f"{name!r} cannot be the name of a model of your own",
            advice="Give another with --name: up to 128 characters without / \\ and :, and no name of the catalogue "
            "or of a server.",
        )
    return name


def is_reserved(name: str) -> bool:
    """Say whether a name is that of a model of the catalogue, in whatever capitals, or of a server."""
    labels = {label for entry in catalog() for label in (entry.id, entry.place.removesuffix(".gguf"))}
    return name.lower() in labels or name in {server.name for server in list_servers()}


def refuse_taken_name(target: Path) -> None:
    """Raise ModelError: another model than the one at hand is kept under that name."""
    raise ModelError(
        f"another model is already kept as {target.name}",
        advice=f"Choose another name, or remove the other: `redwell models remove {shlex.quote(id_of(target))}`.",
    )


def refuse_name_of_folder(target: Path) -> None:
    """Raise ModelError where a model folder is called as a file would be: by one name only one could be meant."""
    folder = target.with_suffix("")
    if is_model_folder(folder):
        refuse_taken_name(folder)


def read_choice(root: Path) -> str:
    """Return the id of the model that the user chose as the default; "" when none was chosen."""
    try:
        return (root / CHOICE).read_text(encoding="utf-8", errors="surrogateescape").removesuffix("\n")
    except OSError:
        return ""


def write_choice(root: Path, model_id: str) -> None:
    """Keep the user's choice of a default model; raises ModelError where it cannot be written."""
    write_private(root / CHOICE, f"{model_id}\n")


def pin_path(path: Path) -> Path:
    """Return where it is kept what the hub said of a model file that was downloaded from it."""
    return path.with_name(f"{path.name}.source.json")


def source_of(path: Path) -> dict[str, str]:
    """Read where a file of one's own is from, and its hash; empty for one that was not downloaded."""
    try:
        body = json.loads(pin_path(path).read_text(encoding="utf-8"))
        return {key: str(body[key]) for key in ("source", "commit", "sha256")}
    except (OSError, ValueError, KeyError, TypeError):
        return {}

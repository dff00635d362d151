"""Which processes of ours may reach the network: those listed here, for the reason given. All others are fenced.

A filter of the kernel stays for good and goes on to all that a process starts, so it is decided at the start, before a
document, a pipeline's code or a model is looked at, from the words of the command line. Who is fenced and asks a server
all the same gets an error that names the way out (models.fence.process.need_network).
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

from models.fence.attempt import try_socket
from models.fence.process import fence_network, harden, own_fence
from models.fence.seccomp import seccomp_is_known

__all__ = ["begin", "this_process", "try_socket", "why_network", "why_serving"]

CLUSTER = "REDWELL_CLUSTER"
ALLOWING_OPTIONS: Mapping[str, str] = {
    "--allow-host": "--allow-host names a host",
    "--cluster": "--cluster names a cluster",
    "--network": "--network was given",
}
NETWORK_COMMANDS: Mapping[tuple[str, ...], str] = {
    ("models", "install"): "it downloads models",
    ("models", "get"): "it brings models from a hub",
    ("models", "add"): "it may ask the server that it adds",
    ("bench",): "benchmarks start servers and other programs",
    ("desktop",): "it only starts the window, which decides for itself",
}
ASKING_COMMANDS = frozenset({"run", "rerun", "ask", "build", "check", "eval"})
"""They ask models: on this machine, unless a server, a cluster or weights for vLLM are named."""

SERVER_ASKING_COMMANDS = frozenset({("models", "list"), ("doctor",)})
"""They ask the servers that have a name whether they answer."""

_MODEL_OPTIONS = ("--model", "--agent-model")
_PIPELINES = (".yaml", ".yml")


State = Literal["refused", "allowed", "unknown"]
"""Whether the kernel refuses the network to a process."""

_reasons: list[str] = []
"""Why this process may reach the network, once `begin` has decided."""


def this_process() -> tuple[State, str]:
    """Say whether the kernel keeps this process from the network; if not, why."""
    fence = own_fence()
    if fence.network:
        return "refused", ""
    return ("allowed" if fence.is_known else "unknown"), _reasons[0] if _reasons and seccomp_is_known() else fence.why


def begin(arguments: Sequence[str]) -> str:
    """Close this process to others, and fence it unless it may reach the network; `arguments`: without the program.

    Return why it may, "" for a process that is fenced, or would be if the kernel could.
    """
    harden()
    reason = why_network(arguments)
    if reason:
        _reasons.insert(0, reason)
    else:
        fence_network()
    return reason


def why_network(arguments: Sequence[str]) -> str:
    """Say why a command may reach the network; "" if it may not."""
    words = tuple(word for word in arguments[:2] if not word.startswith("-"))
    command = words[0] if words else ""
    for place, reason in NETWORK_COMMANDS.items():
        if words[: len(place)] == place:
            return reason
    options = {word.partition("=")[0] for word in arguments}
    for option, reason in ALLOWING_OPTIONS.items():
        if option in options:
            return reason
    if command == "worker":
        return why_serving()
    if words == ("models", "measure") or "--measure" in options:
        return next(filter(None, map(_why_folder, arguments)), "")
    if words in SERVER_ASKING_COMMANDS or words[:1] in SERVER_ASKING_COMMANDS:
        return _why_servers()
    return _why_asking(arguments) if command in ASKING_COMMANDS else ""


def why_serving() -> str:
    """Say why the window, or a worker, may reach the network: it may be asked for anything until it ends."""
    from models.cache_place import bundled_folder, models_folder  # noqa: PLC0415 - what most commands have no use for
    from models.model_folder import is_model_folder  # noqa: PLC0415

    if reason := _why_cluster() or _why_servers():
        return reason
    folder = models_folder()
    if any(folder.glob("*.gguf")) or any(is_model_folder(path) for path in folder.glob("*")):
        return ""
    if any(bundled_folder().glob("*.gguf")):
        return ""
    return "no model is installed yet, and installing one downloads it"


def _why_cluster() -> str:
    return f"{CLUSTER} names a cluster" if os.environ.get(CLUSTER, "").strip() else ""


def _why_servers() -> str:
    from models.errors import ModelError  # noqa: PLC0415
    from models.servers.remembered import list_servers  # noqa: PLC0415

    try:
        names = [server.name for server in list_servers()]
    except ModelError:  # the command itself says what is wrong with the list
        return ""
    return f"a server has a name here: {', '.join(names)}" if names else ""


def _why_asking(arguments: Sequence[str]) -> str:
    from models.errors import ModelError  # noqa: PLC0415
    from models.servers.remembered import find_server  # noqa: PLC0415

    if reason := _why_cluster():
        return reason
    for name in dict.fromkeys(_model_names(arguments)):
        try:
            if find_server(name) is not None:
                return f"the model {name} is a server"
        except ModelError:
            continue  # no address: the command says so
        if reason := _why_folder(name):
            return reason
    return ""


def _model_names(arguments: Sequence[str]) -> Iterator[str]:
    """Name the models that options and the pipeline files among the arguments name, and the default one."""
    from models.install import default_model  # noqa: PLC0415

    for position, word in enumerate(arguments):
        option, is_joined, value = word.partition("=")
        if option in _MODEL_OPTIONS:
            yield value if is_joined else next(iter(arguments[position + 1 : position + 2]), "")
        elif (path := Path(value or word)).suffix in _PIPELINES:
            yield from _named_in(path)
    yield default_model()


def _named_in(pipeline: Path) -> Iterator[str]:
    from engine.errors import PipelineError  # noqa: PLC0415
    from engine.language.yaml_reader import read_yaml  # noqa: PLC0415

    try:
        value, _ = read_yaml(pipeline.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, PipelineError):
        return  # the command itself says what is wrong with it
    yield from _texts_below_models(value, is_model=False)


def _texts_below_models(value: Any, *, is_model: bool) -> Iterator[str]:
    """Return all texts whose key, or one above it, has the word `model` in it."""
    if isinstance(value, str) and is_model:
        yield value
    elif isinstance(value, Mapping):
        for key, below in value.items():
            yield from _texts_below_models(below, is_model=is_model or "model" in str(key))
    elif isinstance(value, list):
        for below in value:
            yield from _texts_below_models(below, is_model=is_model)


def _why_folder(name: str) -> str:
    """Say why a model may reach the network that is a folder of weights; "" for others."""
    from models.cache_place import models_folder  # noqa: PLC0415
    from models.install import FOLDER_PREFIX  # noqa: PLC0415
    from models.model_folder import is_model_folder  # noqa: PLC0415
    from models.paths import expanded  # noqa: PLC0415

    place = name.removeprefix(FOLDER_PREFIX)
    if not place or not any(is_model_folder(path) for path in (expanded(place), models_folder() / place)):
        return ""
    return f"the model {name} is run by vLLM, whose parts speak by sockets of this machine"

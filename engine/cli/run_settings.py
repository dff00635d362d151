"""The options of what a user may choose for a run: one list, for every command that runs something."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Annotated, Any, Literal, TypeVar

import typer

from engine.cli.options import OverwriteOption
from engine.cli.passwords import PasswordOption
from engine.executor.settings import RunSettings
from engine.worker.commands import SettingsKeys

Command = TypeVar("Command", bound=Callable[..., Any])

ModelOption = Annotated[
    str, typer.Option("--model", metavar="NAME", help="A model of `redwell models list`, a GGUF file, or a server.")
]
OcrOption = Annotated[
    Literal["auto", "never", "always"],
    typer.Option(
        "--ocr", help="Read pages by OCR: those that need it, none, all. Files in the case stay as they were read."
    ),
]
WorkersOption = Annotated[
    int | None, typer.Option("--workers", min=1, metavar="N", help="Files read at once; half the cores if not given.")
]
FollowLinksOption = Annotated[
    bool,
    typer.Option("--follow-links", help="Also read what links lead to outside the folder; otherwise they are listed."),
]
HiddenOption = Annotated[
    bool,
    typer.Option(
        "--include-hidden", help="Also show models text that a reader of the page cannot see: under boxes, ..."
    ),
]
TrustOption = Annotated[
    bool, typer.Option("--trust-code", help="Run the Python code that the pipeline contains (code_* operators).")
]
AllowHostOption = Annotated[
    list[str] | None,
    typer.Option(
        "--allow-host",
        metavar="HOST:PORT",
        help="Let text be sent to a model's server that is not this machine. May be repeated; kept with the run.",
    ),
]
AllowPathOption = Annotated[
    list[Path] | None,
    typer.Option(
        "--allow-path",
        metavar="PATH",
        help="Let the pipeline also read and write at PATH, outside its folder and the inputs. May be repeated.",
    ),
]
ClusterOption = Annotated[
    str,
    typer.Option(
        "--cluster",
        metavar="WHERE",
        help="Run models on a Ray cluster: local:2 (processes of this machine), HOST:PORT or ray://HOST:PORT.",
        envvar="REDWELL_CLUSTER",
        show_default=False,
    ),
]

_OPTIONS: dict[str, tuple[Any, Any]] = {
    "model": (ModelOption, ""),
    "ocr": (OcrOption, "auto"),
    "workers": (WorkersOption, None),
    "password": (PasswordOption, None),
    "follow_links": (FollowLinksOption, False),
    "include_hidden": (HiddenOption, False),
    "trust_code": (TrustOption, False),
    "allow_host": (AllowHostOption, None),
    "allow_path": (AllowPathOption, None),
    "overwrite": (OverwriteOption, False),
    "cluster": (ClusterOption, ""),
}

READING = ("ocr", "workers", "password", "follow_links")
"""Options about reading files."""

EVERY = tuple(_OPTIONS)
"""All options of a run."""


def takes_settings(*names: str) -> Callable[[Command], Command]:
    """Give a command these options in place of its parameter `settings`, which is then the RunSettings they say."""

    def decorate(command: Command) -> Command:
        @functools.wraps(command)
        def wrapper(**arguments: Any) -> Any:
            chosen = {name: arguments.pop(name) for name in names}
            return command(**arguments, settings=_settings(chosen))

        options = [
            inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=usual, annotation=annotation)
            for name, (annotation, usual) in ((name, _OPTIONS[name]) for name in names)
        ]
        signature = inspect.signature(command, eval_str=True)
        parameters: list[inspect.Parameter] = []
        for parameter in signature.parameters.values():
            keyword = parameter.replace(kind=inspect.Parameter.KEYWORD_ONLY)
            parameters += options if parameter.name == "settings" else [keyword]
        wrapper.__signature__ = signature.replace(parameters=parameters)  # type: ignore[attr-defined]
        wrapper.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
        return wrapper  # type: ignore[return-value]

    return decorate


def _settings(chosen: Mapping[str, Any]) -> RunSettings:
    """Return the settings that options say; what a command does not take is as usual."""
    said: dict[str, Any] = {
        name: tuple(value) if isinstance(value, list) else value for name, value in chosen.items() if value is not None
    }
    return SettingsKeys(**said).settings

"""What a user may choose for a run, a trial or a build: the same wherever it is started from."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from engine.documents.options import USUAL_WORKERS, ParseOptions


@dataclass(frozen=True)
class RunSettings:
    """The choices that a command, the worker, the window and Python share.

    `model` replaces the models that the pipeline names, "" leaves them. `trust_code` lets the pipeline's own Python
    run. `allow_hosts` are the HOST:PORT that text may be sent to although they are not this machine; they are kept with
    the run. `allow_paths` are what the pipeline may read and write besides its own folder and the inputs. `overwrite`
    lets files be replaced that Redwell did not write. `cluster` is where models run, "" for this machine.
    `include_hidden` shows models also the lines that no reader of the page sees. `workers` files are read at once, as
    `parse` says.
    """

    model: str = ""
    trust_code: bool = False
    allow_hosts: tuple[str, ...] = ()
    allow_paths: tuple[Path, ...] = ()
    overwrite: bool = False
    cluster: str = ""
    include_hidden: bool = False
    workers: int = USUAL_WORKERS
    parse: ParseOptions = field(default=ParseOptions())

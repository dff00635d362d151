"""The commands of the worker, and what each of them takes: the fields of a class are the keys of its JSON object."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import Any, Literal

from engine.documents.options import USUAL_WORKERS, ParseOptions
from engine.errors import UsageError
from engine.executor.settings import RunSettings
from storage.export.cells import Lists
from storage.export.long_form import Form
from storage.export.reviews import Reviews

Texts = tuple[str, ...]
Paths = tuple[Path, ...]


@dataclass(frozen=True, kw_only=True)
class ReadingKeys:
    """How files are read (engine.documents.options.ParseOptions)."""

    ocr: Literal["auto", "never", "always"] = "auto"
    password: str | None = field(default=None, repr=False)
    workers: int | None = None
    follow_links: bool = False

    @property
    def parse(self) -> ParseOptions:
        """Return the options for reading files."""
        return ParseOptions(ocr=self.ocr, password=self.password, follow_links=self.follow_links)

    @property
    def files_at_once(self) -> int:
        """Return how many files are read at once; raises UsageError."""
        if self.workers is None:
            return USUAL_WORKERS
        if self.workers < 1:
            raise UsageError(f"workers is {self.workers}", advice="Write a whole number from 1.")
        return self.workers


@dataclass(frozen=True, kw_only=True)
class SettingsKeys(ReadingKeys):
    """What a user may choose for a run, a trial or a build, here and on the command line."""

    model: str = ""
    trust_code: bool = False
    allow_host: Texts = ()
    allow_path: Paths = ()
    overwrite: bool = False
    cluster: str = ""
    include_hidden: bool = False

    @property
    def settings(self) -> RunSettings:
        """Build the settings of a run from these choices. Raises UsageError."""
        return RunSettings(
            model=self.model,
            trust_code=self.trust_code,
            allow_hosts=self.allow_host,
            allow_paths=self.allow_path,
            overwrite=self.overwrite,
            cluster=self.cluster,
            include_hidden=self.include_hidden,
            workers=self.files_at_once,
            parse=self.parse,
        )


@dataclass(frozen=True, kw_only=True)
class RunCommand(SettingsKeys):
    """Run a pipeline; without `case` it is kept beside the current folder under the pipeline's name."""

    pipeline: Path
    input: Texts = ()
    case: Path | None = None
    out: Paths = ()
    columns: Texts = ()
    bom: bool = False
    lists: Lists = "json"


@dataclass(frozen=True, kw_only=True)
class TryCommand(SettingsKeys):
    """Try the pipeline `text` on a few documents of a case; without `directory`, its relative paths start beside that.

    `until`: the last operator, "" for all; `documents`: ids, empty for the first ones. Of a document of more than
    `most_characters` (0: no limit) the parts are read that fit the question best.
    """

    text: str
    case: Path
    directory: Path | None = None
    documents: Texts = ()
    until: str = ""
    most_characters: int = 0


@dataclass(frozen=True, kw_only=True)
class BuildCommand(SettingsKeys):
    """Look for a better pipeline. What is not given is as with `redwell build`."""

    pipeline: Path
    out: Path
    input: Texts = ()
    case: Path | None = None
    minutes: float | None = None
    sample: int | None = None
    policy: str = "best"
    report: Path | None = None
    agent_model: str = ""
    seed: int = 0


@dataclass(frozen=True, kw_only=True)
class IngestCommand(ReadingKeys):
    """Read a folder into a case; `again` reads also what the case has."""

    folder: Path
    case: Path
    again: bool = False


@dataclass(frozen=True, kw_only=True)
class ExportCommand:
    """Write results to files; `rows` are ids of rows, None for all."""

    case: Path
    run: str
    out: Paths
    columns: Texts = ()
    bom: bool = False
    lists: Lists = "json"
    form: Form = "wide"
    reviews: Reviews = "none"
    drop_rejected: bool = False
    rows: Texts | None = None
    password: str | None = field(default=None, repr=False)
    overwrite: bool = False
    despite_changes: bool = False


@dataclass(frozen=True, kw_only=True)
class ConvertCommand:
    """Encrypt (no `passphrase`), decrypt (no `new_passphrase`) or encrypt anew."""

    case: Path
    passphrase: str = field(default="", repr=False)
    new_passphrase: str = field(default="", repr=False)


@dataclass(frozen=True, kw_only=True)
class UnlockCommand:
    """Say how an encrypted case is opened from now on; "" forgets it."""

    case: Path
    passphrase: str = field(repr=False)


@dataclass(frozen=True)
class AskCommand:
    """Ask a query (engine.worker.queries); `given` are its arguments, which the query checks."""

    query: str
    given: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class ForgetCommand:
    """Drop the question with the id of the command."""


@dataclass(frozen=True)
class PauseCommand:
    """Ask the model nothing more until `resume`."""


@dataclass(frozen=True)
class ResumeCommand:
    """Go on after `pause`."""


@dataclass(frozen=True)
class CancelCommand:
    """Stop the job that goes on; what was read and asked is kept."""


JobOrder = RunCommand | TryCommand | BuildCommand | IngestCommand | ExportCommand | ConvertCommand
"""Commands that take a while; one of them goes on at a time."""

COMMANDS: Mapping[str, type] = MappingProxyType(
    {
        "run": RunCommand,
        "ingest": IngestCommand,
        "export": ExportCommand,
        "try": TryCommand,
        "build": BuildCommand,
        "cancel": CancelCommand,
        "pause": PauseCommand,
        "resume": ResumeCommand,
        "ask": AskCommand,
        "forget": ForgetCommand,
        "unlock": UnlockCommand,
        "convert": ConvertCommand,
    }
)
"""Each command's class by the name that a line gives."""

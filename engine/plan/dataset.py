"""Datasets: where the rows of a pipeline come from, and how files that rows name are read."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import Any, Literal

from engine.errors import PipelineError
from engine.plan.frozen import FrozenMap
from models.paths import expanded

DatasetType = Literal["folder", "file", "case", "memory"]

DOCUMENT_PARSERS: Mapping[str, frozenset[str]] = MappingProxyType(
    {
        "document_to_string": frozenset({"doc_per_page"}),
        "txt_to_string": frozenset(),
        "docx_to_string": frozenset(),
        "pptx_to_string": frozenset({"doc_per_slide"}),
        "xlsx_to_string": frozenset({"orientation", "col_order", "doc_per_sheet"}),
        "paddleocr_pdf_to_string": frozenset({"doc_per_page", "ocr_enabled"}),
        "azure_di_read": frozenset({"doc_per_page", "include_line_numbers"}),
    }
)
"""Parsing functions that read a file with the engine's own parsers, and the arguments of each."""

NO_EFFECT_ARGUMENTS = frozenset(
    {"use_url", "lang", "include_handwritten", "include_font_styles", "include_selection_marks"}
)
"""Arguments of DocETL's parsing functions that change nothing here: no file is fetched, and nothing is left out."""

_NOTHING_LEAVES = "nothing leaves this machine"
REFUSED_PARSERS: Mapping[str, str] = MappingProxyType(
    {
        "whisper_speech_to_text": f"it would send the sound to a service, and {_NOTHING_LEAVES}",
        "gptpdf_to_string": f"it would send the pages to a service, and {_NOTHING_LEAVES}",
        "llama_index_wikipedia_reader": f"it would ask the network, and {_NOTHING_LEAVES}",
        "llama_index_simple_directory_reader": "a dataset of type folder reads the files of a folder",
    }
)
"""Parsing functions of DocETL that are not here, and why."""


@dataclass(frozen=True, slots=True)
class Parsing:
    """Read the file that each row names, or call a function on each row; what comes of it is added to the row.

    `function`: one of DOCUMENT_PARSERS, one that an installed package provides (engine.documents.parsers), or one of
    the pipeline's own. The field `input_key` of a row is the file's path, `output_key` the field that gets the text;
    both are `text` if not given. A function that returns several values makes several rows.
    """

    function: str
    input_key: str | None = None
    output_key: str | None = None
    function_kwargs: Mapping[str, Any] = field(default=FrozenMap({}))

    def __post_init__(self) -> None:
        if reason := REFUSED_PARSERS.get(self.function):
            raise PipelineError(f"the parsing function {self.function} is refused: {reason}", advice=_ADVICE)
        known = DOCUMENT_PARSERS.get(self.function)
        unknown = [] if known is None else [key for key in self.function_kwargs if key not in known]
        if unknown:
            raise PipelineError(
                f"the parsing function {self.function} has no argument {unknown[0]!r}",
                advice=f"Its arguments: {', '.join(sorted(known or ())) or 'none'}.",
            )

    @property
    def reads_documents(self) -> bool:
        """Say whether the engine's own parsers read the file that a row names."""
        return self.function in DOCUMENT_PARSERS

    @property
    def source_field(self) -> str:
        """Return the field that names the file."""
        return self.input_key or "text"

    @property
    def target_field(self) -> str:
        """Return the field that gets the text."""
        return self.output_key or "text"


_ADVICE = f"Here are: {', '.join(DOCUMENT_PARSERS)}, and those of installed packages."


@dataclass(frozen=True, slots=True)
class ParsingTool:
    """A parsing function that the pipeline defines in Python; it runs only if the user trusts the pipeline's code."""

    name: str
    function_code: str


@dataclass(frozen=True, slots=True)
class Dataset:
    """Where rows come from. `path` is as written; a relative one starts at the pipeline file's folder.

    folder: documents of any kind. file: rows of a data file (a workbook has `sheet`s); a folder, or a file of another
    kind, is read as documents. case: the documents of a case file, or of the run's own case where `path` is empty,
    those whose path or file name fits one of `glob` if there are any, which have one of `tags` if there are any, a star
    if `starred`, a line with the `words` of a search if there are any, and which are one of `documents` (SHA-256) if
    there are any. memory: the rows `data`, or rows that the caller hands over (engine.executor.run.RunOptions.rows).
    `include_hidden`: models also read lines that no reader of the page sees.
    """

    name: str
    type: DatasetType
    path: str = ""
    sheet: str = ""
    glob: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    starred: bool = False
    words: str = ""
    documents: tuple[str, ...] = ()
    data: tuple[Mapping[str, Any], ...] = ()
    parsing: tuple[Parsing, ...] = ()
    include_hidden: bool = False
    source: Literal["local"] = "local"

    def __post_init__(self) -> None:
        if self.type in ("folder", "file") and not self.path:
            raise PipelineError(
                f"dataset {self.name!r} of type {self.type} needs a path",
                advice="Write path: with the folder or file, or type: memory.",
            )
        for key, value, types in (
            ("path", self.path, ("folder", "file", "case")),
            ("sheet", self.sheet, ("file",)),
            ("glob", self.glob, ("case",)),
            ("tags", self.tags, ("case",)),
            ("starred", self.starred, ("case",)),
            ("words", self.words, ("case",)),
            ("documents", self.documents, ("case",)),
            ("data", self.data, ("memory",)),
        ):
            if value and self.type not in types:
                raise PipelineError(
                    f"dataset {self.name!r} of type {self.type} has no {key}",
                    advice=f"{key} is for type: {' or '.join(types)}.",
                )

    @property
    def is_selection(self) -> bool:
        """Say whether only documents that a person marked or named are read."""
        return bool(self.tags or self.starred or self.words or self.documents)

    def location(self, directory: Path) -> Path:
        """Resolve the path against the folder of the pipeline file."""
        return directory / expanded(self.path)

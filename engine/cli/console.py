"""The two streams of the terminal, text made safe and short for it, and how errors and help are shown.

Records and replies are untrusted: they reach a terminal without its control sequences, and never as rich markup.
"""

from __future__ import annotations

import codecs
import io
import json
import os
import re
import shlex
import sys
from pathlib import Path
from typing import Any, TextIO

from rich.console import Console
from rich.text import Text

from engine.worker.exit_codes import UserError

COMMAND_SETTINGS: dict[str, Any] = {
    "add_completion": False,
    "pretty_exceptions_enable": False,
    "rich_markup_mode": "markdown",  # flows docstrings anew; the usual mode keeps their line ends
}
"""Settings of every command's Typer app."""

PIPE_WIDTH = 120
"""Columns where output goes to a file or pipe and COLUMNS is not set."""

_PICTURES = {code: 0x2400 + code for code in range(0x20) if chr(code) not in "\t\n"} | {0x7F: 0x2421}
_HIDDEN = dict.fromkeys((*range(0x80, 0xA0), *range(0x202A, 0x202F), *range(0x2066, 0x206A)), 0xFFFD)
_HALVES = dict.fromkeys(range(0xD800, 0xE000), 0xFFFD)
_VISIBLE = _PICTURES | _HIDDEN | _HALVES


def output() -> Console:
    """Return stdout: results."""
    return _console(sys.stdout, stderr=False)


def messages() -> Console:
    """Return stderr: progress, warnings and errors."""
    return _console(sys.stderr, stderr=True)


def write_every_character() -> None:
    """Let stdout write the number of a character that its encoding does not have, as stderr does."""
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")


def write_json(value: Any, *, indent: int | None = None) -> None:
    """Write a value to stdout as JSON."""
    write_json_text(json.dumps(value, ensure_ascii=False, indent=indent))


def write_json_text(text: str) -> None:
    """Write JSON to stdout: with JSON's numbers of characters where the encoding is not UTF-8 and may lack them."""
    if codecs.lookup(sys.stdout.encoding or "ascii").name != "utf-8":
        text = re.sub(r"[^\x00-\x7f]+", lambda found: json.dumps(found[0])[1:-1], text)
    sys.stdout.write(f"{text}\n")


def visible(text: str) -> str:
    """Replace control and text-direction characters, which could rewrite the output, by visible signs.

    So is half of a character, which no stream takes: JSON can hold one.
    """
    return text.translate(_VISIBLE)


def one_line(text: str) -> str:
    """Make text visible, on one line."""
    return " ".join(visible(text).split())


def shortened(text: str, characters: int) -> str:
    """Cut text to so many characters, ending in an ellipsis; for the screen only."""
    return text if len(text) <= characters else text[: max(characters - 1, 0)].rstrip() + "…"


def styled(*parts: str | tuple[str, str]) -> Text:
    """Join texts, and (text, style) pairs, without reading markup in them."""
    return Text.assemble(*parts)


def counted(number: int, noun: str, plural: str = "") -> str:
    """Write a number with its noun: `1 file`, `1,200 files`."""
    return f"{number:,} {noun if number == 1 else plural or noun + 's'}"


def span_text(seconds: float) -> str:
    """Write a duration: `0.4 s`, `48 s`, `3 min 20 s`, `1 h 05 min`."""
    if seconds < 9.95:
        return f"{seconds:.1f} s"
    minutes, rest = divmod(round(seconds), 60)
    if minutes == 0:
        return f"{rest} s"
    if minutes < 60:
        return f"{minutes} min {rest:02d} s"
    return f"{minutes // 60} h {minutes % 60:02d} min"


def shell_word(word: str | Path) -> str:
    """Write a word as it must be typed; a path relative to the current folder where it is below it, never an option."""
    if isinstance(word, Path) and word.is_relative_to(Path.cwd()):
        word = word.relative_to(Path.cwd())
    text = visible(str(word))
    is_option = isinstance(word, Path) and text.startswith("-")
    return shlex.quote(f"./{text}" if is_option else text)


def show_error(error: UserError) -> None:
    """Print an error that a user can mend, and what to do, to stderr."""
    show_problem("error", str(error), error.advice)


def show_problem(what: str, message: str, advice: str = "", *, style: str = "bold red") -> None:
    """Print one problem to stderr in the same form as errors."""
    console = messages()
    console.print(styled((f"{what}: ", style), visible(message)), soft_wrap=not console.is_terminal)
    if advice:
        console.print(styled(("what to do: ", "bold"), visible(advice)), soft_wrap=not console.is_terminal)


def _console(stream: TextIO, *, stderr: bool) -> Console:
    is_sized = stream.isatty() or "COLUMNS" in os.environ
    return Console(stderr=stderr, highlight=False, markup=False, emoji=False, width=None if is_sized else PIPE_WIDTH)

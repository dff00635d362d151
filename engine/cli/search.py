"""`redwell search`: words in the records of a case."""

from __future__ import annotations

import json
import sys
from typing import Annotated

import typer
from rich.text import Text

from engine.cli.console import counted, output, styled, visible
from engine.cli.options import CaseArgument
from engine.cli.settings import COMMAND_SETTINGS
from engine.results.hidden import HIDDEN_WORDS
from storage.case import Case
from storage.export.assemble import file_names
from storage.search import HIT_END, HIT_START, Hit

app = typer.Typer(**COMMAND_SETTINGS)


@app.command()
def search(
    case: CaseArgument,
    text: Annotated[
        list[str], typer.Argument(metavar="TEXT...", help='Words; "two words" for a phrase, offic* for a beginning.')
    ],
    limit: Annotated[int, typer.Option("--limit", "-n", min=1, help="Lines to show.")] = 50,
    as_json: Annotated[bool, typer.Option("--json", help="Write one JSON object a line.")] = False,
) -> None:
    """Find words in the records of a case: lines that hold all of them, best first."""
    with Case(case, read_only=True) as opened:
        hits = opened.search(_query(text), limit + 1)
        names = file_names(opened)
    for hit in hits[:limit]:
        if as_json:
            place = {"file": names[hit.document_id], "page": hit.page, "line": hit.line, "text": hit.text}
            place |= {"hidden": hit.hidden} if hit.hidden else {}
            sys.stdout.write(json.dumps({"document": hit.document_id, **place}, ensure_ascii=False) + "\n")
        else:
            output().print(_hit_line(hit, names[hit.document_id]), soft_wrap=True)
    if not as_json:
        _sum_up(len(hits), limit)


def _query(words: list[str]) -> str:
    """Put the words together; one that the shell passed on with a blank in it was a phrase."""
    if len(words) == 1:
        return words[0]
    return " ".join(f'"{word}"' if " " in word and '"' not in word else word for word in words)


def _hit_line(hit: Hit, name: str) -> Text:
    line = styled((f"{visible(name)} p.{hit.page} l.{hit.line}", "cyan"), "  ")
    for index, part in enumerate(hit.snippet.split(HIT_START)):
        found, _, rest = part.partition(HIT_END) if index else ("", "", part)
        line.append(visible(found), "bold red")
        line.append(visible(rest))
    if hit.hidden:
        line.append(f"  (not shown by the page: {HIDDEN_WORDS.get(hit.hidden, hit.hidden)})", "bold yellow")
    return line


def _sum_up(found: int, limit: int) -> None:
    more = f"the first {limit:,} lines; there are more (--limit)" if found > limit else counted(found, "line")
    output().print(styled((more, "dim")))

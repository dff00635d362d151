"""`redwell search`: words in the records of a case."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from itertools import starmap
from pathlib import Path
from typing import Annotated

import typer
from rich.text import Text

from engine.cli.console import COMMAND_SETTINGS, counted, one_line, output, styled, visible, write_json
from engine.cli.options import CaseArgument, OverwriteOption
from engine.errors import UsageError
from engine.results.hidden import HIDDEN_WORDS
from engine.results.saved_searches import documents_of, find_search, remove_search, save_search, saved_searches
from engine.results.shown import CountedDocument, SavedSearch, TermCounts
from engine.results.term_counts import count_terms, term_table
from models.paths import expanded
from storage.case import Case
from storage.export.assemble import file_names
from storage.export.files import write_table
from storage.listing import DocumentFilter
from storage.search import HIT_END, HIT_START, Hit

app = typer.Typer(**COMMAND_SETTINGS)


@app.command()
def search(  # noqa: PLR0913, PLR0917 - one parameter per option
    case: CaseArgument,
    text: Annotated[
        list[str] | None,
        typer.Argument(metavar="TEXT", help="""Words; '"two words"' for a phrase, 'offic*' for a beginning."""),
    ] = None,
    limit: Annotated[int, typer.Option("--limit", "-n", metavar="N", min=1, help="Lines to show.")] = 50,
    terms: Annotated[
        Path | None,
        typer.Option("--terms", metavar="FILE", help="Count the terms of a file, one per line, in each document."),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option("--out", "-o", metavar="FILE", help="With --terms: write the counts as .csv, .xlsx or .jsonl."),
    ] = None,
    overwrite: OverwriteOption = False,
    tag: Annotated[
        list[str] | None,
        typer.Option("--tag", metavar="NAME", help="Only in documents with this tag. May be repeated."),
    ] = None,
    starred: Annotated[bool, typer.Option("--starred", help="Only in documents with a star.")] = False,
    save: Annotated[
        str, typer.Option("--save", metavar="NAME", help="Keep this search in the case, words and filters.")
    ] = "",
    saved: Annotated[
        str, typer.Option("--saved", metavar="NAME", help="Use a saved search; words that you give replace its words.")
    ] = "",
    list_saved: Annotated[bool, typer.Option("--list-saved", help="List the saved searches.")] = False,
    forget: Annotated[str, typer.Option("--forget", metavar="NAME", help="Remove a saved search.")] = "",
    as_json: Annotated[bool, typer.Option("--json", help="Write one JSON object a line.")] = False,
) -> None:
    """Find words in the records of a case: lines that hold all of them, best first.

    With --terms, count in each document the lines that hold each term of a list. --save keeps a search in the case.
    """
    if list_saved or forget:
        _list_saved(case, forget, as_json=as_json)
        return
    _check(text, terms, out, save, saved)
    only = DocumentFilter(tags=tuple(tag or ()), starred=starred)
    with Case(case, read_only=not save, create=False) as opened:
        wanted = _wanted(opened, _query(text or []), only, saved)
        if not (wanted.words or terms):
            raise UsageError(f"the saved search {wanted.name!r} has filters and no words", advice="Give words as well.")
        within = documents_of(opened.runs, wanted)
        if terms is not None:
            _count(opened, terms, within, out, as_json=as_json, overwrite=overwrite)
            return
        if save:
            save_search(opened, replace(wanted, name=save))
        hits = opened.search.find(wanted.words, limit + 1, within=within)
        names = file_names(opened.documents)
    if as_json:
        _write_hits(hits[:limit], names)
        return
    for hit in hits[:limit]:
        output().print(_hit_line(hit, names[hit.document_id]), soft_wrap=True)
    _sum_up(len(hits), limit)


def _write_hits(hits: Sequence[Hit], names: Mapping[str, str]) -> None:
    """Write one JSON object a line."""
    for hit in hits:
        place = {"file": names[hit.document_id], "page": hit.page, "line": hit.line, "text": hit.text}
        place |= {"hidden": hit.hidden} if hit.hidden else {}
        write_json({"document": hit.document_id, **place})


def _check(text: list[str] | None, terms: Path | None, out: Path | None, save: str, saved: str) -> None:
    """Raise UsageError for options that do not go together."""
    advice = "Give words, --saved NAME, or --terms FILE."
    if terms is not None and text:
        raise UsageError("there are words and a list of terms", advice=advice)
    if terms is not None and save:
        raise UsageError("--save keeps words, not a list of terms", advice="Leave out --save, or --terms.")
    if terms is None and not (text or saved):
        raise UsageError("there is nothing to search for", advice=advice)
    if terms is None and out is not None:
        raise UsageError("--out writes the counts of --terms", advice="Leave out --out, or give --terms FILE.")


def _wanted(case: Case, words: str, only: DocumentFilter, saved: str) -> SavedSearch:
    """Return the search that is meant: the saved one, where that is named, with what is given in place of its own."""
    if not saved:
        return SavedSearch("", words, only)
    search = find_search(case.cache, saved)
    both = replace(search.only, tags=only.tags or search.only.tags, starred=only.starred or search.only.starred)
    return replace(search, words=words or search.words, only=both)


def _list_saved(case: Path, forget: str, *, as_json: bool) -> None:
    """List the saved searches, or remove one."""
    if forget:
        with Case(case, create=False) as opened:
            remove_search(opened, forget)
        output().print(styled(("Removed ", "bold"), f"the saved search {visible(forget)}"), soft_wrap=True)
        return
    with Case(case, read_only=True) as opened:
        searches = saved_searches(opened.cache)
    for each in searches:
        filters = {part: value for part, value in asdict(each.only).items() if value}
        if as_json:
            write_json({"name": each.name, "words": each.words, "only": filters})
        else:
            parts = "  ".join(filter(None, (each.words, *starmap(_filter_text, filters.items()))))
            output().print(styled((visible(each.name), "cyan"), f"  {visible(parts)}"), soft_wrap=True)
    if not as_json:
        output().print(styled((counted(len(searches), "saved search", "saved searches"), "dim")))


def _filter_text(part: str, value: object) -> str:
    if value is True:
        return part
    return f"{part}: {', '.join(map(str, value)) if isinstance(value, tuple) else value}"


def _count(  # noqa: PLR0913 - where, what and how it is written
    case: Case, terms: Path, within: DocumentFilter | None, out: Path | None, *, as_json: bool, overwrite: bool
) -> None:
    """Print the counts of a list of terms, or write them."""
    try:
        lines = expanded(terms).read_text(encoding="utf-8-sig").splitlines()
    except (OSError, UnicodeError) as error:
        raise UsageError(f"the list {terms} cannot be read: {error}", advice="Give a text file in UTF-8.") from error
    term_counts = count_terms(case, lines, within)
    if out is not None:
        _write_counts(case, term_counts, out, overwrite=overwrite)
    elif as_json:
        for row in term_counts.rows:
            write_json({"document": row.document, "file": row.name, "lines": dict(_held(term_counts, row))})
    else:
        _show_counts(term_counts)


def _write_counts(case: Case, term_counts: TermCounts, out: Path, *, overwrite: bool) -> None:
    from engine.worker.crossings import recorded  # noqa: PLC0415 - slow to load, and searching does without
    from engine.worker.jobs import check_outs  # noqa: PLC0415

    check_outs((out,), case=case.path)
    with recorded(case, (out,), overwrite=overwrite):
        write_table(term_table(term_counts), out)
    written = f"{out}, {counted(len(term_counts.rows), 'document')}"
    output().print(styled(("Written ", "bold"), one_line(written)), soft_wrap=True)


def _held(term_counts: TermCounts, row: CountedDocument) -> list[tuple[str, int]]:
    """List the terms that a document holds, with the number of its lines."""
    pairs = zip(term_counts.terms, row.counts, strict=True)
    return [(each.term, count) for each, count in pairs if count]


def _show_counts(term_counts: TermCounts) -> None:
    for row in term_counts.rows:
        counts = ", ".join(f"{term}: {count:,}" for term, count in _held(term_counts, row))
        output().print(styled((visible(row.name), "cyan"), f"  {visible(counts)}"), soft_wrap=True)
    for each in term_counts.terms:
        total = f"{counted(each.lines, 'line')} in {counted(each.documents, 'document')}"
        output().print(styled((f"{visible(each.term)}: {total}", "dim")), soft_wrap=True)


def _query(words: list[str]) -> str:
    """Put the words together; one that the shell passed on with a blank in it was a phrase."""
    if len(words) == 1:
        return words[0]
    return " ".join(f'"{word}"' if " " in word and '"' not in word else word for word in words)


def _hit_line(hit: Hit, name: str) -> Text:
    line = styled((f"{visible(name)} p.{hit.page} l.{hit.line}", "cyan"), "  ")
    for index, part in enumerate(hit.snippet.split(HIT_START)):
        match, _, rest = part.partition(HIT_END) if index else ("", "", part)
        line.append(visible(match), "bold red")
        line.append(visible(rest))
    if hit.hidden:
        line.append(f"  (not shown by the page: {HIDDEN_WORDS.get(hit.hidden, hit.hidden)})", "bold yellow")
    return line


def _sum_up(count: int, limit: int) -> None:
    more = f"{counted(limit, 'line')} shown; there are more (--limit)" if count > limit else counted(count, "line")
    output().print(styled((more, "dim")))

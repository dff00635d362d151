"""Account for every row: run work per group of rows, keep order, and turn item errors into Failed."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from engine.errors import ItemError
from engine.operators.base import Failed, OperatorFunction, Outcome, Rejected, Tools
from engine.plan.node import Node
from engine.rows import Row
from models.errors import ModelError, OutOfTokens, TimedOut

Item = TypeVar("Item")
Result = TypeVar("Result")

IN_FLIGHT = 256
"""Work items that may hold a rendered prompt at once; the model's scheduler batches fewer."""


@dataclass(frozen=True, slots=True)
class Failure:
    """Why one work item could not be done."""

    error: str
    advice: str = ""
    raw_reply: str | None = None

    def as_error(self, before: str = "") -> ItemError:
        """Return it as the error of what the item is part of, with what to say before it."""
        return ItemError(f"{before}{self.error}", advice=self.advice, raw_reply=self.raw_reply)


async def process(
    node: Node,
    groups: Sequence[Sequence[Row]],
    work: Callable[[Sequence[Row]], Awaitable[Sequence[Row] | Rejected]],
    tools: Tools,
) -> Outcome:
    """Work on all groups at once; rows come out in the order of the groups. A failed group fails all its rows."""
    results = await attempt_all(groups, work, tools.progress)
    rows: list[Row] = []
    rejected: list[Rejected] = []
    failed: list[Failed] = []
    for group, result in zip(groups, results, strict=True):
        match result:
            case Failure():
                failed += fail(node, group, result)
            case Rejected():
                rejected.append(result)
            case _:
                rows += result
    return Outcome(rows, rejected, failed)


async def process_rows(
    node: Node, rows: Sequence[Row], work: Callable[[Row], Awaitable[Sequence[Row] | Rejected]], tools: Tools
) -> Outcome:
    """Work on each row by itself."""
    return await process(node, [[row] for row in rows], lambda group: work(group[0]), tools)


def row_by_row(work: Callable[[Any, Row, Tools], Awaitable[Sequence[Row] | Rejected]]) -> OperatorFunction:
    """Make an operator's `run` of what it does with one row: all rows at once; what comes of them keeps their order."""

    async def run(node: Node, rows: Sequence[Row], tools: Tools) -> Outcome:
        return await process_rows(node, rows, lambda row: work(node, row, tools), tools)

    return run


async def attempt_all(
    items: Sequence[Item],
    work: Callable[[Item], Awaitable[Result]],
    progress: Callable[[int, int], None] = lambda done, total: None,
) -> list[Result | Failure]:
    """Work on all items at once: one result or Failure per item, same order.

    Any other error (a bug, a missing model) cancels the rest and is raised.
    """
    slots = asyncio.Semaphore(IN_FLIGHT)
    done = 0

    async def one(item: Item) -> Result | Failure:
        nonlocal done
        async with slots:
            result = await attempt(work, item)
        done += 1
        progress(done, len(items))
        return result

    return await all_or_none([one(item) for item in items])


async def all_or_none(work: Sequence[Coroutine[Any, Any, Result]]) -> list[Result]:
    """Do all at once, results in order; the first error cancels the rest and is raised as it is."""
    tasks = [asyncio.ensure_future(coroutine) for coroutine in work]
    try:
        return list(await asyncio.gather(*tasks))
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


async def succeed_all(items: Sequence[Item], work: Callable[[Item], Awaitable[Result]]) -> list[Result]:
    """Work on all parts of one row at once, same order; the first failure (by order) is the row's: an ItemError."""
    done: list[Result] = []
    for result in await attempt_all(items, work):
        if isinstance(result, Failure):
            raise result.as_error()
        done.append(result)
    return done


async def attempt(work: Callable[[Item], Awaitable[Result]], item: Item) -> Result | Failure:
    """Do one item; the only place where an item's error is caught."""
    try:
        return await work(item)
    except ItemError as error:
        return Failure(str(error), error.advice, error.raw_reply)
    except ModelError as error:
        if error.is_environment:
            raise  # nothing is wrong with the row: every other would fail the same way
        return Failure(str(error), error.advice, error.partial if isinstance(error, OutOfTokens | TimedOut) else None)


def fail(node: Node, rows: Sequence[Row], failure: Failure) -> list[Failed]:
    """Fail rows with an error that names the operator and the row."""
    return [
        Failed(row, f"operator {node.name!r}, {label(row)}: {failure.error}", failure.advice, failure.raw_reply)
        for row in rows
    ]


def label(row: Row) -> str:
    """Name a row for a person: its id, its file if it says so, its lines."""
    filename = row.values.get("filename")
    file = f" of {filename}" if isinstance(filename, str) else ""
    lines = f" lines {row.span.first}-{row.span.last}" if row.span else ""
    return f"row {row.id}{file}{lines}"


def value_of(row: Row, key: str) -> Any:
    """Read a field; raises ItemError listing the fields there are."""
    if key not in row.values:
        fields = ", ".join(row.values) or "none"
        raise ItemError(f"there is no field {key!r}; the fields there are: {fields}")
    return row.values[key]


def text_of(row: Row, key: str) -> str:
    """Read a field that must be text; raises ItemError."""
    value = value_of(row, key)
    if not isinstance(value, str):
        raise ItemError(f"field {key!r} is {kind_of(value)}, not text")
    return value


def first_line_of(row: Row, text: str, tools: Tools) -> int | None:
    """Return the document line on which a row's text begins; None when the text is not those lines.

    A text whose number of lines differs from that of the row's span, or of its document, was made from them (a
    summary).
    """
    if row.document_id is None or not text:
        return None
    ends = text.count("\n")
    lines = ends + (not text.endswith("\n"))
    if row.span is not None:
        return row.span.first if lines == row.span.last - row.span.first + 1 else None
    # Behind a line end at the end of a document's text stands its last line, an empty one.
    return 1 if tools.structure(row.document_id).lines in (lines, ends + 1) else None


def kind_of(value: Any) -> str:
    """Name the JSON kind of a value for an error message."""
    names = {type(None): "null", bool: "a boolean", str: "text", list: "a list", dict: "a dictionary"}
    return names.get(type(value), "a number" if isinstance(value, int | float) else type(value).__name__)

"""Read folders into documents, in children, each file once."""

from __future__ import annotations

import asyncio
import shutil
import tempfile
from collections import deque
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterator, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from engine.disk import sha256_of
from engine.documents.budget import Budget
from engine.documents.drafts import ParsedFile
from engine.documents.events import Duplicate, FileEvent, FileFailed, Found, IngestEvent, Known, Parsed, Unpacked
from engine.documents.job import clear_folder, size_of
from engine.documents.leftovers import scratch_folder
from engine.documents.options import ParseOptions
from engine.documents.parse import unreadable
from engine.documents.pool import ParserPool
from engine.documents.unpacking import TOO_LARGE, Share
from engine.documents.walk import walk
from engine.errors import DocumentError
from engine.rows import DocumentId

KnownChildren = Callable[[DocumentId], Sequence[dict[str, Any]]]
"""The `children` entry of a known document's metadata; empty when it has none."""

_LOOK_AHEAD = 4
_PASSING = frozenset(("timeout", "out_of_memory", "crashed", "disk_full"))
"""Reasons of failures that may be gone when the file is read another time."""


async def ingest_folder(
    paths: Sequence[Path],
    *,
    known: Callable[[DocumentId], bool],
    options: ParseOptions,
    workers: int,
    known_children: KnownChildren = lambda id: (),
) -> AsyncIterator[IngestEvent]:
    """Read files and folders; yield one event per file in order of path, whatever the timing of the workers.

    The same bytes are parsed once. A file that `known` says yes to is not parsed; with `known_children` the files
    inside it get their events again too, failures included. It is parsed again where such a failure may have passed: of
    time, memory or room, or for want of a password that is given now. Files inside a file come before it (see Parsed).
    """
    listing = await asyncio.to_thread(walk, paths, follow_links=options.follow_links)
    entries = list(listing.in_order())
    yield Found(len(entries))
    with scratch_folder() as scratch:
        async with ParserPool(workers, options) as pool:
            run = _Run(pool, known, known_children, options, scratch)
            try:
                async with aclosing(run.events(entries, _LOOK_AHEAD * workers)) as events:
                    async for event in events:
                        yield event
            finally:
                await run.cancel()


@dataclass(eq=False)
class _Outcome:
    """What became of some bytes: one of known, error or parsed. `nodes` are the files inside.

    `is_container`: they have no text of their own, so there is no document (a ZIP).
    """

    is_known: bool = False
    is_container: bool = False
    error: DocumentError | None = None
    parsed: ParsedFile | None = None
    nodes: list[_Node] = field(default_factory=list)
    folder: Path | None = None


@dataclass(eq=False)
class _Node:
    """One path to some bytes. `name` is its name within its parent; `error` when there are no bytes to read.

    `taken_out` is the file where it was taken out of another one; it is removed when it is reported.
    """

    path: str
    name: str
    id: DocumentId | None = None
    error: DocumentError | None = None
    outcome: asyncio.Task[_Outcome] | None = None
    taken_out: Path | None = None


@dataclass(eq=False)
class _Run:
    """One pass over a folder. Bytes are worked on in tasks, one per digest; events are made in order."""

    pool: ParserPool
    known: Callable[[DocumentId], bool]
    known_children: KnownChildren
    options: ParseOptions
    scratch: Path
    tasks: dict[DocumentId, asyncio.Task[_Outcome]] = field(default_factory=dict)
    told: set[DocumentId] = field(default_factory=set)
    listed: dict[DocumentId, Sequence[dict[str, Any]]] = field(default_factory=dict)

    async def events(
        self, entries: Sequence[tuple[Path, DocumentError | None]], look_ahead: int
    ) -> AsyncGenerator[FileEvent, None]:
        """Yield the events of all files, working on at most `look_ahead` files beyond the one that is reported."""
        waiting: deque[_Node] = deque()
        coming = iter(entries)
        while True:
            while len(waiting) <= look_ahead and (entry := next(coming, None)) is not None:
                path, error = entry
                node = _Node(str(path), path.name, error=error)
                budget = Budget(size_of(path), self.options)
                waiting.append(node if error else await self._visit(node, path, budget, depth=0))
            if not waiting:
                return
            async for event in self._report(waiting.popleft(), None):
                yield event

    async def cancel(self) -> None:
        """Stop what is still being worked on."""
        for task in self.tasks.values():
            task.cancel()
        await asyncio.gather(*self.tasks.values(), return_exceptions=True)

    async def _visit(self, node: _Node, file: Path, budget: Budget, *, depth: int) -> _Node:
        """Take the digest of a file and set somebody to work on its bytes, unless somebody is already.

        `budget` is that of the file of the user's which it lies in, or is.
        """
        if depth > self.options.max_depth:
            node.error = DocumentError(
                f"it lies {depth} files deep inside other files; the limit is {self.options.max_depth}",
                reason="too_large",
                advice="Take it out yourself and drop it on its own.",
            )
            return node
        try:
            node.id = DocumentId(await asyncio.to_thread(sha256_of, file))
        except OSError as error:
            node.error = unreadable(error)
            return node
        if node.id not in self.tasks:
            self.tasks[node.id] = asyncio.create_task(self._work(node.id, node, file, budget, depth))
        node.outcome = self.tasks[node.id]
        return node

    async def _work(self, id: DocumentId, node: _Node, file: Path, budget: Budget, depth: int) -> _Outcome:
        """Parse some bytes and set off work on the files inside; their outcomes are not waited for here.

        Waiting here could wait for itself: a ZIP can be made that holds a copy of itself.
        """
        if self.known(id) and not self._may_go_now(id):
            return _Outcome(is_known=True)
        folder = Path(tempfile.mkdtemp(dir=self.scratch))
        try:
            parsed = await self._parse(node, file, folder, budget, depth)
        except DocumentError as error:
            await asyncio.to_thread(shutil.rmtree, folder, ignore_errors=True)
            return _Outcome(error=error)
        outcome = _Outcome(parsed=parsed, folder=folder, is_container=parsed.document is None)
        for child in parsed.children:
            inner = _Node(f"{node.path}/{child.name}", child.name, taken_out=child.path)
            inner_budget = Budget(size_of(child.path), self.options) if _is_folder_of_mails(parsed, depth) else budget
            outcome.nodes.append(await self._visit(inner, child.path, inner_budget, depth=depth + 1))
        for failure in parsed.failures:
            stuck = DocumentError(failure.message, reason=failure.reason, advice=failure.advice)
            outcome.nodes.append(_Node(f"{node.path}/{failure.name}", failure.name, error=stuck))
        return outcome

    async def _parse(self, node: _Node, file: Path, folder: Path, budget: Budget, depth: int) -> ParsedFile:
        """Parse a file within what is left of the budget; again with more, where the usual share was not enough."""
        needs = budget.needs(size_of(file), is_nested=depth > 0)
        for need in needs:
            is_last = need == needs[-1]
            async with budget.share(need) as share:
                try:
                    parsed = await self.pool.parse(file, name=node.name, scratch=folder, share=share, id=node.id)
                except DocumentError as error:
                    if is_last or error.reason != TOO_LARGE:
                        raise
                else:
                    if is_last or all(failure.reason != TOO_LARGE for failure in parsed.failures):
                        if not _is_folder_of_mails(parsed, depth):
                            budget.take(await asyncio.to_thread(_taken_out, parsed))
                        return parsed
            await asyncio.to_thread(clear_folder, folder)
        raise RuntimeError("the last attempt returns or raises")

    async def _report(self, node: _Node, parent: DocumentId | None) -> AsyncIterator[FileEvent]:
        """Yield the events of a file, those of the files inside it first; then remove it where it was taken out."""
        async for event in self._report_bytes(node, parent):
            yield event
        if node.taken_out is not None:
            node.taken_out.unlink(missing_ok=True)

    async def _report_bytes(self, node: _Node, parent: DocumentId | None) -> AsyncIterator[FileEvent]:
        if node.id is None or node.outcome is None:
            yield _failed(node, node.error, parent)
            return
        outcome = await node.outcome
        if outcome.error is not None:
            yield _failed(node, outcome.error, parent)
        elif node.id in self.told and outcome.is_container:
            yield Unpacked(node.id, node.path, parent)
        elif node.id in self.told:
            yield Duplicate(node.id, node.path, parent)
        elif outcome.is_known:
            for event in self._report_known(node.id, node.path, parent):
                yield event
        else:
            self.told.add(node.id)
            async for event in self._report_parsed(node, node.id, outcome, parent):
                yield event
        self._forget(outcome)

    async def _report_parsed(
        self, node: _Node, id: DocumentId, outcome: _Outcome, parent: DocumentId | None
    ) -> AsyncIterator[FileEvent]:
        parsed = outcome.parsed
        if parsed is None:
            raise RuntimeError(f"{node.path} was neither parsed nor known")
        owner = parent if parsed.document is None else id
        children: list[dict[str, Any]] = []
        for inner in outcome.nodes:
            # The bytes may have been visited first at another path, or under another name.
            async for event in self._report(replace(inner, path=f"{node.path}/{inner.name}"), owner):
                if event.parent_id == id and not isinstance(event, Unpacked):
                    children.append(_child_entry(event, node.path))
                yield event
        if parsed.document is None:
            yield Unpacked(id, node.path, parent)
            return
        metadata = (*parsed.document.metadata, *((("children", children),) if children else ()))
        document = replace(parsed.document, filename=Path(node.name).name, metadata=metadata)
        yield Parsed(document, node.path, parent, parsed.seconds)

    def _report_known(self, id: DocumentId, path: str, parent: DocumentId | None) -> Iterator[FileEvent]:
        self.told.add(id)
        for child in self._children_of(id):
            inner = f"{path}/{child['name']}"
            if "reason" in child:
                reason, message, advice = child["reason"], child["message"], child["advice"]
                yield FileFailed(inner, child.get("id"), reason, message, advice, id)
            elif DocumentId(child["id"]) in self.told:
                yield Duplicate(DocumentId(child["id"]), inner, id)
            else:
                yield from self._report_known(DocumentId(child["id"]), inner, id)
        yield Known(id, path, parent)

    def _may_go_now(self, id: DocumentId) -> bool:
        """Say whether a file inside a known one failed, at any depth, for a reason that may have passed."""
        for child in self._children_of(id):
            reason = child.get("reason")
            if reason in _PASSING or (reason == "encrypted" and self.options.password):
                return True
            if reason is None and self.known(child["id"]) and self._may_go_now(child["id"]):
                return True
        return False

    def _children_of(self, id: DocumentId) -> Sequence[dict[str, Any]]:
        """Return the `children` entry of a known document, which is read once."""
        if id not in self.listed:
            self.listed[id] = self.known_children(id)
        return self.listed[id]

    def _forget(self, outcome: _Outcome) -> None:
        """Free what a reported file held: its lines, and the files taken out of it."""
        if outcome.parsed is not None:
            outcome.parsed = replace(outcome.parsed, document=None)
        if outcome.folder is not None:
            shutil.rmtree(outcome.folder, ignore_errors=True)
            outcome.folder = None


def _taken_out(parsed: ParsedFile) -> Share:
    """Measure what was taken out of a file."""
    return Share(sum(child.path.lstat().st_size for child in parsed.children), len(parsed.children))


def _is_folder_of_mails(parsed: ParsedFile, depth: int) -> bool:
    """Say whether a file is a mailbox of the user's, which unpacks to no more than itself.

    Its messages are not counted, and each has a budget of its own, like a mail that the user gave.
    """
    return parsed.kind == "mbox" and depth == 0


def _failed(node: _Node, error: DocumentError | None, parent: DocumentId | None) -> FileFailed:
    if error is None:
        raise RuntimeError(f"{node.path} has neither an outcome nor an error")
    return FileFailed(node.path, node.id, error.reason, str(error), error.advice, parent)


def _child_entry(event: FileEvent, path: str) -> dict[str, Any]:
    """Describe a file directly inside the document at `path` (those in a ZIP in it count as such)."""
    name = event.path.removeprefix(path + "/")
    if isinstance(event, FileFailed):
        failure = {"reason": event.reason, "message": event.message, "advice": event.advice}
        return {"name": name, **({"id": event.sha256} if event.sha256 else {}), **failure}
    return {"name": name, "id": event.document.id if isinstance(event, Parsed) else event.id}

"""A build while it goes on: its plans and what they wrote, for who looks at them before the report is there."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

from engine.errors import UsageError
from engine.loader import Loaded
from engine.optimizer.report import as_file, contest_body, plan_body
from engine.optimizer.search import Search

ANSWER_SECONDS = 10.0
"""How long a question waits for the loop of the search, which is never held up as long."""

Result = TypeVar("Result")


class LiveBuild:
    """The build that goes on, or was the last. Made in the loop that searches; its methods are called in other threads.

    `pipeline` is the file that it rewrites, `folder` where the plans' files would lie.
    """

    def __init__(self, search: Search, given: Loaded, pipeline: Path, folder: Path) -> None:
        self.pipeline = pipeline.resolve()
        self._search = search
        self._given = given
        self._folder = folder
        self._loop = asyncio.get_running_loop()

    def plan(self, id: int) -> dict[str, Any] | None:
        """Return one plan as the report has it, None where there is none of this number."""
        return self._looked(lambda: self._plan(id))

    def parts(self) -> list[dict[str, Any]]:
        """Return the parts that were looked at until now as the report has them."""
        return self._looked(lambda: [contest_body(contest) for contest in self._search.contests])

    def _plan(self, id: int) -> dict[str, Any] | None:
        known = self._search.candidates
        if id not in known:
            return None
        shown = [known[number] for number in (id, known[id].parent) if number is not None]
        written = {candidate.id: as_file(candidate.plan, self._given, self._folder) for candidate in shown}
        return plan_body(known[id], self._search, written)

    def _looked(self, look: Callable[[], Result]) -> Result:
        """Look in the loop of the search, between two of its steps."""

        async def answered() -> Result:
            return look()

        try:
            return asyncio.run_coroutine_threadsafe(answered(), self._loop).result(ANSWER_SECONDS)
        except TimeoutError as error:
            raise UsageError("the search is too busy to be looked at", advice="Look again in a moment.") from error

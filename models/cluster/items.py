"""A request under way in the cluster: where it has been, and what becomes of it."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass

from models.cluster.prefixes import Beginning
from models.cluster.worker import Worker
from models.errors import ModelCrashed
from models.protocol import Reply, Request

ALONE_AFTER = 2
"""A request that was running when so many workers died runs alone from then on."""

MOST_ALONE = 3
"""A request fails when so many workers died while it ran alone."""


@dataclass(eq=False)
class Item:
    """A request under way. `deaths` counts the workers that died while it ran, `alone_deaths` those it had alone."""

    request: Request
    steps: tuple[Beginning, ...]
    future: asyncio.Future[Reply]
    deaths: int = 0
    alone_deaths: int = 0
    cost: int = 0
    task: asyncio.Task[None] | None = None

    @property
    def is_suspect(self) -> bool:
        """Say whether it must run alone."""
        return self.deaths >= ALONE_AFTER


async def outcome_of(worker: Worker, request: Request) -> Reply | Exception:
    """Ask; any error is returned, for it belongs to who asked, as it would without a cluster."""
    try:
        return await worker.ask(request)
    except Exception as error:  # noqa: BLE001 - settled, never swallowed
        return error


def settle(item: Item, outcome: Reply | Exception) -> None:
    """Give the outcome to who asked, if anybody still waits."""
    if item.future.done():
        return
    if isinstance(outcome, Exception):
        item.future.set_exception(outcome)
    else:
        item.future.set_result(outcome)


def poisonous(item: Item) -> ModelCrashed:
    """Say that workers die of this request."""
    purpose = item.request.purpose
    what = " ".join(part for part in (purpose.operator, purpose.row_id) if part)
    return ModelCrashed(
        f"{item.deaths} workers died while they worked on this request{f' ({what})' if what else ''}, "
        f"{item.alone_deaths} of them on it alone",
        advice="Shorten the prompt or set max_tokens lower; look at the memory of the nodes.",
    )

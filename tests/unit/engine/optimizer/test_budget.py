"""The time of a build, and shares of it."""

from __future__ import annotations

import asyncio

import pytest
from scripted_build import Clock

from engine.optimizer.budget import Budget, OutOfTime


def test_a_share_never_exceeds_the_whole():
    clock = Clock()
    whole = Budget(60, clock=clock)
    share = whole.share(90)
    assert share.left == 60
    small = whole.share(10)
    clock.now = 10
    assert (small.left, share.left, whole.spent) == (0, 50, 10)
    with pytest.raises(OutOfTime):
        small.check()
    share.check()
    assert small.whole is whole
    assert share.share(5).whole is whole


async def test_the_end_of_the_whole_cancels_what_is_awaited():
    ended = []

    async def work():
        try:
            await asyncio.sleep(60)
        finally:
            ended.append("cancelled")

    budget = Budget(0.05)
    with pytest.raises(OutOfTime):
        async with budget.limit():
            await work()
    assert ended == ["cancelled"]


async def test_the_end_of_a_share_lets_what_has_begun_go_on():
    share = Budget(60).share(0.02)
    async with share.limit():
        await asyncio.sleep(0.05)
    with pytest.raises(OutOfTime):
        async with share.limit():
            raise AssertionError("nothing may begin")


async def test_a_stopped_budget_ends_as_out_of_time():
    budget = Budget(60)

    async def work():
        async with budget.share(30).limit():
            await asyncio.sleep(60)

    task = asyncio.create_task(work())
    await asyncio.sleep(0.01)
    budget.stop()
    task.cancel()
    with pytest.raises(OutOfTime):
        await task


async def test_being_cancelled_without_a_stop_is_being_cancelled():
    async def work():
        async with Budget(60).limit():
            await asyncio.sleep(60)

    task = asyncio.create_task(work())
    await asyncio.sleep(0.01)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


async def test_a_timeout_of_the_work_itself_is_its_own():
    with pytest.raises(TimeoutError):
        async with Budget(60).limit():
            raise TimeoutError("the model's own")

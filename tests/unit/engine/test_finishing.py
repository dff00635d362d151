"""What has begun to end is ended whole, however often its caller is cancelled."""

import asyncio

import pytest

from engine.finishing import to_the_end


async def test_the_result_is_given_back():
    assert await to_the_end(asyncio.sleep(0, "done")) == "done"


async def test_a_caller_cancelled_again_and_again_is_cancelled_when_the_work_is_done():
    go, done = asyncio.Event(), []

    async def work():
        await go.wait()
        done.append(True)

    caller = asyncio.create_task(to_the_end(work()))
    for _ in range(3):
        await asyncio.sleep(0)
        caller.cancel()
    await asyncio.sleep(0)
    assert not caller.done()
    go.set()
    with pytest.raises(asyncio.CancelledError):
        await caller
    assert done == [True]


async def test_an_error_of_the_work_is_told_though_the_caller_was_cancelled():
    go = asyncio.Event()

    async def work():
        await go.wait()
        raise OSError("the disk")

    caller = asyncio.create_task(to_the_end(work()))
    await asyncio.sleep(0)
    caller.cancel()
    await asyncio.sleep(0)
    go.set()
    with pytest.raises(OSError, match="the disk"):
        await caller


async def test_work_that_is_cancelled_itself_says_so():
    work = asyncio.ensure_future(asyncio.sleep(60))
    caller = asyncio.create_task(to_the_end(work))
    await asyncio.sleep(0)
    work.cancel()
    with pytest.raises(asyncio.CancelledError):
        await caller

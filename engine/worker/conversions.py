"""Encrypting the case that a worker serves: nobody may have it open meanwhile."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from engine.custody.recording import record_conversion
from engine.errors import UsageError
from engine.executor.events import Emit
from engine.worker.answering import Answering
from engine.worker.exit_codes import INTERRUPTED
from engine.worker.protocol import ConvertProgress
from storage.conversion import decrypt_case, encrypt_case, rekey_case
from storage.conversion_watch import ConversionStopped, Phase, Tell


@dataclass(frozen=True, slots=True)
class ConvertJob:
    """A conversion as ordered: the passphrase a case has and the one that it is to have, empty for none."""

    case: Path
    current: str = field(repr=False)
    new: str = field(repr=False)


def convert_job(given: Mapping[str, Any]) -> ConvertJob:
    """Make the job of a `convert` command; raises UsageError."""
    job = ConvertJob(Path(given["case"]).expanduser(), given.get("passphrase", ""), given.get("new_passphrase", ""))
    if not job.current and not job.new:
        raise UsageError("convert: no passphrase is given", advice="Give `passphrase`, `new_passphrase` or both.")
    return job


async def convert(job: ConvertJob, answering: Answering, emit: Emit) -> int:
    """Convert while no question is answered; returns 0, or 130 where it was cancelled, which leaves the case as it was.

    Raises StorageError, or UsageError while a question is being answered that takes long.
    """
    loop, stopped = asyncio.get_running_loop(), threading.Event()

    def tell(phase: Phase, done: int, total: int) -> None:
        if stopped.is_set():
            raise ConversionStopped
        loop.call_soon_threadsafe(emit, ConvertProgress(phase, done, total))

    async with answering.at_rest():
        work = asyncio.ensure_future(asyncio.to_thread(_convert, job, tell))
        try:
            await asyncio.shield(work)
        except asyncio.CancelledError:
            stopped.set()
            try:
                await work
            except ConversionStopped:
                return INTERRUPTED
    return 0


def _convert(job: ConvertJob, tell: Tell) -> None:
    if not job.current:
        encrypt_case(job.case, job.new, tell)
        record_conversion(job.case, "encrypt")
    elif not job.new:
        decrypt_case(job.case, job.current, tell)
        record_conversion(job.case, "decrypt")
    else:
        rekey_case(job.case, job.current, job.new, tell)
        record_conversion(job.case, "rekey")

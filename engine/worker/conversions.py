"""Encrypting the case that a worker serves: nobody may have it open meanwhile, and nothing can stop it half-way."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from engine.errors import UsageError
from engine.worker.answering import Answering
from storage.conversion import decrypt_case, encrypt_case, rekey_case


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


async def convert(job: ConvertJob, answering: Answering) -> int:
    """Convert while no question is answered; returns 0. A cancellation waits for the end and has no other effect.

    Raises StorageError, or UsageError while a question is being answered that takes long.
    """
    async with answering.at_rest():
        work = asyncio.ensure_future(asyncio.to_thread(_convert, job))
        try:
            await asyncio.shield(work)
        except asyncio.CancelledError:
            await work
    return 0


def _convert(job: ConvertJob) -> None:
    if not job.current:
        encrypt_case(job.case, job.new)
    elif not job.new:
        decrypt_case(job.case, job.current)
    else:
        rekey_case(job.case, job.current, job.new)

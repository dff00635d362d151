"""Requests that wait for a slot, and which of them goes next: the one whose beginning is cached furthest."""

from __future__ import annotations

from collections import deque
from itertools import islice

from models.jobs import Job
from models.sequences import Slot, SlotTable

WORTH_WAITING_TOKENS = 32
"""A request waits for another's prefill when it would save at least so many tokens."""

LOOK_AHEAD = 64
"""How many waiting requests are compared for the longest shared prefix."""

MOST_OVERTAKEN = 256
"""A request that so many later ones overtook starts next, whatever prefix others share: none waits for ever."""


class WaitingLine:
    """Jobs in order of arrival."""

    def __init__(self) -> None:
        self.jobs: deque[Job] = deque()

    def choose(self, table: SlotTable) -> tuple[Job, Slot | None, int] | None:
        """Pick the job with the longest cached prefix; None if all had better wait for a running prefill."""
        best: tuple[Job, Slot | None, int] | None = None
        for job in islice(self.jobs, LOOK_AHEAD):
            source, length, promised = table.best_prefix(job.prompt)
            # The last prompt token is always evaluated anew: its logits begin the reply.
            length, promised = min(length, job.prompt.size - 1), min(promised, job.prompt.size - 1)
            if job.overtaken >= MOST_OVERTAKEN:
                return job, source, length
            if promised - length >= WORTH_WAITING_TOKENS:
                continue
            if best is None or length > best[2]:
                best = job, source, length
        return best

    def take(self, job: Job) -> None:
        """Remove a job that starts, counting it against those it overtook."""
        for other in self.jobs:
            if other is job:
                break
            other.overtaken += 1
        self.jobs.remove(job)

    def drop_cancelled(self) -> bool:
        """Forget cancelled jobs; say whether there were any."""
        if not any(job.cancelled for job in self.jobs):
            return False
        self.jobs = deque(job for job in self.jobs if not job.cancelled)
        return True

"""What of a case was allowed to go to other computers, and when: as its custody log and its older runs have it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from engine.custody.recording import record_beside
from engine.worker.contract.offline import Allowed
from storage.case import Case

_EVENT: Final = "sending_allowed"
_HOSTS: Final = "allow_hosts"


def note_allowed(case: Case, what: str, hosts: Sequence[str]) -> str:
    """Record that a job that is no run may send text to these places; nothing where there are none.

    Return why that was not possible, "" where it was.
    """
    return record_beside(case, _EVENT, {"what": what, _HOSTS: list(hosts)}) if hosts else ""


def allowed_in(case: Case) -> list[Allowed]:
    """List what was allowed in a case, the earliest first. Raises CustodyBroken where the log is not what it was."""
    jobs: list[Allowed] = []
    logged = set()
    for entry in case.custody.entries():
        if entry.event == _EVENT:
            jobs.append(Allowed(entry.body["what"], tuple(entry.body[_HOSTS]), entry.time, None))
        elif entry.event == "run_start":
            run = str(entry.body["run"])
            logged.add(run)
            if hosts := entry.body["settings"].get(_HOSTS):
                jobs.append(Allowed(f"run {run}", tuple(hosts), entry.time, _replies(case, run)))
    jobs += [
        Allowed(f"run {run.id}", tuple(run.settings[_HOSTS]), run.started_at, _replies(case, run.id))
        for run in case.runs.all()
        if run.settings.get(_HOSTS) and run.id not in logged
    ]
    return sorted(jobs, key=lambda job: job.at)


def _replies(case: Case, run: str) -> int:
    return sum(case.replies.calls_of_run(run).values())

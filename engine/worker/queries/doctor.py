"""What `redwell doctor` says, as data."""

from __future__ import annotations

from engine.worker.contract import doctor as contract
from engine.worker.contract.doctor import CheckedThing, Mend, State
from engine.worker.health import all_checks, is_helpful
from engine.worker.queries.desk import Desk
from engine.worker.queries.registry import query
from models.catalog import catalog, default_entry
from models.check import Check
from models.install import default_model, other_embeddings


@query(contract.CHECKS, lane="slow")
def checks(desk: Desk, *, again: bool = False) -> list[CheckedThing]:
    """Look at this machine; takes some seconds. No socket is asked for: that is for a person to order (offline.try).

    No model is loaded where the self-test passed before, unless `again` is set.
    """
    results = all_checks(trying=False, again=again)
    states: list[State] = ["ok" if check.ok else "note" if is_helpful(check) else "missing" for check in results]
    return [
        CheckedThing(check.name, state, check.detail, check.advice, *_mend(check))
        for check, state in zip(results, states, strict=True)
    ]


def _mend(check: Check) -> tuple[Mend, str]:
    """Say what the window can do about a check that failed."""
    if check.ok:
        return "", ""
    match check.name:
        case "Default model" if default_model() in {entry.id for entry in catalog()}:  # else it is the user's own file
            return "install", default_model()
        case "Embedding model" if other_embeddings() is None:
            return "install", default_entry("embedding").id
        case "Speed":
            return "measure", default_model()
        case "Memory":
            return "settings", ""
    return "", ""

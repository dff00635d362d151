"""The jobs A to G, with Redwell and with the peers that are named: `redwell bench jobs` (README.md)."""

from __future__ import annotations

from side_by_side import Bench, Settings


def test_jobs() -> None:
    """Print what each contestant took, and the tables; fail if Redwell itself failed at a job."""
    print()
    results = Bench(Settings.from_environment()).measure()
    assert results, "no job was chosen"
    failed = [r for r in results if r["contestant"] == "ours" and "error" in r]
    assert not failed, failed

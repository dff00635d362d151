"""Which rows count in charts, on the timeline and in the network: not those that a reviewer rejected."""

from __future__ import annotations

from dataclasses import replace

from engine.results.table import Selection


def counted(only: Selection) -> Selection:
    """Return the rows of a selection that count, in the order of the run."""
    return replace(only, without_rejected=True, sort="", descending=False, least_agreed_first=False)

"""How models and what to expect of them are shown: for people, and as JSON for programs."""

from __future__ import annotations

import dataclasses
from typing import Any

from rich.text import Text

from engine.cli.console import one_line, styled
from models.install import ModelStatus
from models.prospects import Prospect
from models.rates import Rates

SHORT_HASH = 12
COLORS = {"fits": "green", "slow": "yellow", "will not fit": "bold red", "cannot be used": "bold red"}


def title_line(status: ModelStatus) -> Text:
    """Name a model, and say whether it is installed."""
    installed = ("installed", "green") if status.installed else ("not installed", "yellow")
    is_default = ", the default" if status.is_default else ""
    return styled((one_line(status.id), "bold"), "  ", installed, is_default)


def detail_lines(status: ModelStatus, prospect: Prospect, *, verbose: bool) -> list[Text]:
    """Say how it will do, what it is, where it is from and what it is for."""
    context = f", context {status.context_tokens:,} tokens" if status.context_tokens else ""
    sha256 = status.sha256 if verbose else status.sha256[:SHORT_HASH]
    known = f", SHA-256 {sha256}" if sha256 else ""
    what = f"{status.title}, {size_text(status.bytes)}{context}, licence {status.licence}{known}"
    origin = f"by {status.made_by}, {status.source}" if status.made_by else status.source
    return [
        styled((prospect.verdict, COLORS[prospect.verdict]), one_line(f": {prospect.why}{_speed(status, prospect)}")),
        styled(one_line(what)),
        *([styled(one_line(origin))] if origin else []),
        styled((one_line(status.purpose), "dim")),
    ]


def rates_text(rates: Rates) -> str:
    """Write rates for a person."""
    read, written = (
        f"{n:,.0f}" if n >= 10 else f"{n:.1f}" for n in (rates.prompt_per_second, rates.sampled_per_second)
    )
    return f"reads {read} tokens a second and writes {written}, in several replies at once"


def as_json(status: ModelStatus, prospect: Prospect) -> dict[str, Any]:
    """Return all that is known of a model, for a program."""
    memory = status.memory
    return {
        **{name: getattr(status, name) for name in _PLAIN},
        "path": str(status.path),
        "memory": {**dataclasses.asdict(memory), "needed_bytes": memory.needed_bytes, "fits": memory.fits},
        "verdict": prospect.verdict,
        "why": prospect.why,
        "most_context_tokens": prospect.most_context,
        "speed": _speed_json(prospect),
    }


_PLAIN = (
    *("id", "title", "kind", "purpose", "installed", "is_default", "licence", "made_by", "source", "sha256"),
    *("bytes", "context_tokens"),
)


def size_text(count: int) -> str:
    """Write a number of bytes."""
    return f"{count / 1e9:.1f} GB" if count >= 1e9 else f"{count / 1e6:.0f} MB"


def _speed(status: ModelStatus, prospect: Prospect) -> str:
    if prospect.rates is not None:
        how = f"estimated from {prospect.estimated_from}" if prospect.is_estimated else "measured"
        return f"; {rates_text(prospect.rates)} ({how})"
    if status.kind != "language" or prospect.verdict in ("will not fit", "cannot be used"):
        return ""
    return f"; how fast is not known: `redwell models measure {status.id}`" if status.installed else ""


def _speed_json(prospect: Prospect) -> dict[str, Any] | None:
    if prospect.rates is None:
        return None
    return {
        "read_tokens_per_second": prospect.rates.prompt_per_second,
        "written_tokens_per_second": prospect.rates.sampled_per_second,
        "is_estimated": prospect.is_estimated,
        "estimated_from": prospect.estimated_from,
        "measured_at": prospect.rates.measured_at,
    }

"""How models and what to expect of them are shown to people."""

from __future__ import annotations

from rich.text import Text

from engine.cli.console import messages, one_line, output, shell_word, styled
from models.measuring import measure_model
from models.prospects import Prospect
from models.rates import Rates
from models.status import ModelStatus

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
    layout = f"; answers best in the layout {rates.layout}" if rates.layout else ""
    return f"reads {read} tokens a second and writes {written}, in several replies at once{layout}"


def show_rates(model: str) -> None:
    """Measure a model (ten seconds or so), "" for the default one, and say what came of it; raises ModelError."""
    with messages().status("reading and writing …"):
        rates = measure_model(model)
    name = one_line(model or "the default model")
    output().print(styled((name, "bold"), f" {rates_text(rates)}"), soft_wrap=True)


def size_text(count: int) -> str:
    """Write a number of bytes."""
    return f"{count / 1e9:.1f} GB" if count >= 1e9 else f"{count / 1e6:.0f} MB"


def _speed(status: ModelStatus, prospect: Prospect) -> str:
    if prospect.rates is not None:
        how = f"estimated from {prospect.estimated_from}" if prospect.is_estimated else "measured"
        return f"; {rates_text(prospect.rates)} ({how})"
    if status.kind != "language" or prospect.verdict in ("will not fit", "cannot be used"):
        return ""
    return f"; how fast is not known: `redwell models measure {shell_word(status.id)}`" if status.installed else ""

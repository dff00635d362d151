"""Say how a pipeline will run: the plan as written, what is rewritten and why, fields, and what it will take."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from engine.estimate.flow import NOTHING, WorkEstimate, estimate_work, total
from engine.estimate.scale import Corpus, Machine, pages_of, scale_lines, scaled, table_lines
from engine.estimate.sources import look_at
from engine.estimate.total import Total, rates_of, total_of
from engine.loader import Loaded
from engine.plan.node import Node
from engine.plan.rewrites import rewritten
from engine.plan.work import Workflow, as_written
from models.protocol import CHARACTERS_PER_TOKEN
from models.rates import Rates

HOW_TO_MEASURE = "redwell doctor --measure"


def explanation(
    loaded: Loaded,
    *,
    data: Mapping[str, Sequence[Mapping[str, Any]]] | None = None,
    case: Path | None = None,
    model: str = "",
    corpus: Corpus | None = None,
    machines: Sequence[Machine] = (),
) -> str:
    """Write the explanation of a plan. No model is loaded and no document is parsed.

    `data` are the rows of in-memory datasets; `case`, where there is one, tells of documents that were read before;
    `model` replaces those of the pipeline. `corpus` is the size to predict for, `machines` whose rates to predict with.
    """
    written, workflow = as_written(loaded.plan), rewritten(loaded.plan)
    name = model or loaded.plan.default_model
    asks = any(node.traits().calls_model for node in written.nodes())
    rates = rates_of(name) if asks else None
    return "\n".join(
        [
            *_plan_lines("Plan as written", written),
            "",
            *_rewrite_lines(workflow),
            *(["", *_plan_lines("Plan as run", workflow)] if workflow.rewrites else []),
            "",
            *_estimate_lines(loaded, workflow, data, case, name, rates, corpus or Corpus(), machines),
        ]
    )


def _plan_lines(title: str, workflow: Workflow) -> Iterator[str]:
    yield title
    for step in workflow.steps:
        yield f"  {step}"
        width = max((len(work.node.name) for work in step.works), default=0)
        for work in step.works:
            what = "decides only" if work.decides else _fields(work.node)
            yield f"    {work.node.name:<{width}}  {work.node.kind}: {what}"


def _fields(node: Node) -> str:
    """Say what an operator reads, writes and drops."""
    traits = node.traits()
    reads = ["every field"] if traits.reads_unknown else sorted(traits.reads | traits.reads_right)
    parts = [f"reads {', '.join(reads)}"] if reads else []
    if traits.writes:
        parts.append(
            f"writes {', '.join(node.written_fields())}" + (" and fields of its items" if traits.opens else "")
        )
    if not traits.keeps_others:
        parts.append("drops all others")
    elif traits.removes:
        parts.append(f"drops {', '.join(sorted(traits.removes))}")
    if not traits.row_local:
        parts.append("waits for all rows")
    return "; ".join(parts) or "reads and writes nothing"


def _rewrite_lines(workflow: Workflow) -> Iterator[str]:
    if not workflow.rewrites:
        yield "Rewrites: none; the plan runs as written"
        return
    yield "Rewrites (exact: the results stay the same)"
    for rewrite in workflow.rewrites:
        yield f"  {rewrite.rule}  {rewrite.target}: {rewrite.reason}"


def _estimate_lines(
    loaded: Loaded,
    workflow: Workflow,
    data: Mapping[str, Sequence[Mapping[str, Any]]] | None,
    case: Path | None,
    model: str,
    rates: Rates | None,
    corpus: Corpus,
    machines: Sequence[Machine],
) -> Iterator[str]:
    per_token = rates.characters_per_token if rates else CHARACTERS_PER_TOKEN
    sources = scaled(look_at(loaded, data=data, case=case), corpus)
    estimates, assumptions = estimate_work(workflow, sources, per_token)
    yield "Estimate"
    for source in sources.values():
        characters = sum(sum(item.characters.values()) for item in source.items) * source.times
        yield f"  {source.name}: {len(source.items) * source.times:,.0f} rows, {characters:,.0f} characters"
    yield from _table(estimates, rates)
    whole = total_of(estimates)
    prompt, read, sampled = whole.prompt_tokens, whole.read_tokens, whole.sampled_tokens
    yield (
        f"  In all: {whole.calls.text()} calls, {prompt.text()} prompt tokens, of which {read.text()} are read "
        f"(a beginning that prompts share is read once), {sampled.text()} tokens written"
    )
    yield from _time_lines(whole, model, rates)
    if machines or corpus.given:
        known = [Machine("this machine", rates.prompt_per_second, rates.sampled_per_second)] if rates else []
        rows, pages = total(estimate.rows for estimate in estimates), pages_of(sources, corpus)
        yield from scale_lines(
            [*known, *machines], calls=whole.calls, read=read, sampled=sampled, rows=rows, pages=pages
        )
    yield "  Replies that a case has already are not asked for again."
    if assumptions:
        yield "Assumed"
        yield from (f"  {line}" for line in assumptions)


def _table(estimates: Sequence[WorkEstimate], rates: Rates | None) -> Iterator[str]:
    rows: list[tuple[str, ...]] = [
        ("operator", "rows in", "calls", "prompt tokens", "read", "tokens written", "minutes")
    ]
    for estimate in estimates:
        name = estimate.work.node.name + (" (decides)" if estimate.work.decides else "")
        if estimate.calls == NOTHING:
            rows.append((name, estimate.rows.text(), "none", "", "", "", ""))
            continue
        seconds = rates.seconds(estimate.read_tokens.likely, estimate.sampled_tokens.likely) if rates else None
        minutes = "?" if seconds is None else f"{seconds / 60:.1f}"
        tokens = [
            f"{guess.likely:,.0f}" for guess in (estimate.prompt_tokens, estimate.read_tokens, estimate.sampled_tokens)
        ]
        rows.append((name, estimate.rows.text(), estimate.calls.text(), *tokens, minutes))
    yield from table_lines(rows)


def _time_lines(total: Total, model: str, rates: Rates | None) -> Iterator[str]:
    if total.calls == NOTHING:
        yield "  No model is asked."
        return
    shown = model or "the default model"
    if rates is None:
        command = f"{HOW_TO_MEASURE} {model}".strip()
        yield f"  Minutes: not known, because {shown} was not measured on this machine: `{command}`"
        return
    likely, most = (seconds / 60 for seconds in total.seconds(rates))
    longest = f", at most {most:,.1f}" if math.isfinite(most) else ", at most not known"
    yield f"  Minutes: about {likely:,.1f}" + ("" if total.calls.low == total.calls.high else longest)
    yield (
        f"  {shown} reads {rates.prompt_per_second:,.0f} and writes {rates.sampled_per_second:,.0f} tokens a second "
        f"here (measured {rates.measured_at[:10]})"
    )

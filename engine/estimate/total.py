"""What a whole pipeline will take: calls, tokens and time of all its operators together."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from engine.estimate.flow import Guess, WorkEstimate, estimate_work, total
from engine.estimate.sources import Looked, Source, look_at
from engine.executor.translation import open_case
from engine.loader import Loaded
from engine.plan.rewrites import rewritten
from engine.plan.work import Workflow, streams
from models.errors import ModelError
from models.protocol import CHARACTERS_PER_TOKEN
from models.rates import Rates, load_rates


@dataclass(frozen=True, slots=True)
class Total:
    """The sums. Of the prompt tokens `read` are computed: a beginning that prompts share is read once."""

    calls: Guess
    prompt_tokens: Guess
    read_tokens: Guess
    sampled_tokens: Guess

    def seconds(self, rates: Rates) -> tuple[float, float]:
        """Return how long it takes at these rates, likely and at most (which may be infinite)."""
        read, sampled = self.read_tokens, self.sampled_tokens
        return rates.seconds(read.likely, sampled.likely), rates.seconds(read.high, sampled.high)


@dataclass(frozen=True, slots=True)
class Forecast:
    """A pipeline's total in numbers. `seconds` is None where the model's speed is not known.

    `assumed` says what was taken for granted.
    """

    calls: int
    prompt_tokens: int
    sampled_tokens: int
    seconds: float | None
    model: str
    assumed: tuple[str, ...]


def total_of(found: Sequence[WorkEstimate]) -> Total:
    """Add up the operators."""
    return Total(
        calls=total(each.calls for each in found),
        prompt_tokens=total(each.prompt_tokens for each in found),
        read_tokens=total(each.read_tokens for each in found),
        sampled_tokens=total(each.sampled_tokens for each in found),
    )


def rates_of(model: str) -> Rates | None:
    """Return how fast a model is here; None where that was not measured or the model is not known."""
    try:
        return load_rates(model)
    except ModelError:
        return None  # the run says which model is missing; here its speed is just not known


def forecast(
    loaded: Loaded, *, case: Path, model: str = "", looked: Looked = lambda: None, with_kept: bool = False
) -> Forecast:
    """Estimate a plan; `case` tells of documents that were read before, `model` replaces those of the pipeline.

    Without `with_kept`, documents are left out that a finished run of the same plan has asked the same model about:
    their replies are kept. Raises what `looked` does, which hears of each row that is looked at.
    """
    workflow = rewritten(loaded.plan)
    name = model or loaded.plan.default_model
    rates = rates_of(name) if any(node.traits().calls_model for node in workflow.nodes()) else None
    per_token = rates.characters_per_token if rates else CHARACTERS_PER_TOKEN
    sources = look_at(loaded, case=case, looked=looked)
    estimates, assumptions = estimate_work(workflow, sources, per_token)
    if not with_kept and (asked := _asked_before(case, loaded, name)):
        estimates = _without(asked, workflow, sources, estimates, per_token)
    whole = total_of(estimates)
    return Forecast(
        calls=round(whole.calls.likely),
        prompt_tokens=round(whole.prompt_tokens.likely),
        sampled_tokens=round(whole.sampled_tokens.likely),
        seconds=whole.seconds(rates)[0] if rates else None,
        model=name,
        assumed=tuple(assumptions),
    )


def _asked_before(file: Path, loaded: Loaded, model: str) -> set[str]:
    """Return the documents that finished runs of a plan have asked a model about."""
    if not file.is_file():
        return set()
    with open_case(file, read_only=True) as case:
        same = [run for run in case.runs.all() if (run.pipeline_digest, run.model_name) == (loaded.plan.digest, model)]
        finished = [run.id for run in same if run.status == "finished"]
        records = (record for run in finished for record in case.ledger.run_documents(run))
        return {record.document_id for record in records if record.document_id is not None and record.fate != "failed"}


def _without(
    asked: Collection[str],
    workflow: Workflow,
    sources: Mapping[str, Source],
    estimates: Sequence[WorkEstimate],
    characters_per_token: float,
) -> list[WorkEstimate]:
    """Leave documents out of the estimates of operators that ask about each row by itself.

    Those that compare rows, and all behind them, ask anew as soon as one document is left.
    """
    left = {
        name: replace(source, items=[item for item in source.items if item.document not in asked])
        for name, source in sources.items()
    }
    if not any(source.items for source in left.values()):
        return []
    of_left, _ = estimate_work(workflow, left, characters_per_token)
    alone = set(sources)
    chosen: list[WorkEstimate] = []
    pairs = zip(estimates, of_left, strict=True)
    for step in workflow.steps:
        is_alone = alone.issuperset(step.inputs)
        for work in step.works:
            is_alone = is_alone and streams(work.node) and work.node.traits().inputs == 1
            every, few = next(pairs)
            chosen.append(few if is_alone else every)
        alone |= {step.name} if is_alone else set()
    return chosen

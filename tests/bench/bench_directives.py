"""Whether every directive can be instantiated by a small model: `redwell bench directives`.

For each directive of engine/directives the agent proposes parameters for the directive's fixture
(tests/fixtures/directives), they are applied, and the rewritten plan goes through every static check. Written is one
table: who wrote the parameters (the model in round 1 or 2, or the templates, and after which complaints), how many of
the prompts are the model's own, seconds, and the operators of the rewritten plan.

REDWELL_BENCH_MODEL names the model (default qwen2.5-coder-1.5b), REDWELL_BENCH_OUT a folder for directives.json and
directives.md, REDWELL_BENCH_ONLY some of the directives, by a comma. Nothing but that every rewritten plan passes the
checks is asserted: what a model writes is its affair.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
import time
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from needs import installed

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "fixtures"))
from directive_cases import FACTS, Case, rewritten_cases

from engine.directives.base import AnyDirective, Site
from engine.directives.proposals import SHORTEST_PROMPT
from engine.directives.registry import directive
from engine.language.checks import check, field_flow
from engine.language.writer import to_yaml
from engine.loader import parse_pipeline
from engine.optimizer.agent import AgentModel
from engine.optimizer.instantiate import GenerationAgent, Proposal
from engine.plan.plan import Plan
from models.hardware import inspect_hardware
from models.llama import LlamaBackend
from models.llama_runtime import LlamaSettings

MODEL = "qwen2.5-coder-1.5b"
CONTEXT_TOKENS = 8192

_RECORD = (
    "Case 21-07, closed on March 3, 2021. Officer Ana Roe struck a man with a baton at 5 Elm Street; the finding is "
    '"sustained", and she was suspended for ten days. The accused, Officer Paul Diaz, lied in his report.'
)
_VALUES: dict[str, Any] = {
    "text": _RECORD,
    "text_chunk": _RECORD,
    "text_chunk_rendered": _RECORD,
    "filename": "21-07.txt",
    "officer": "Ana Roe",
    "act": "struck a man with a baton",
    "laws": ["PC 149", "GO 8.01"],
    "year": 2021,
    "title": "Use of force",
}
"""An invented record, and what operators before the place have made of it."""


@dataclass(frozen=True, kw_only=True)
class Attempt:
    """What came of one directive.

    `round` is the one whose reply passed, 0 for the templates; `complaints` those of the checker, for each round that
    did not pass. `own_texts` of `texts` prompts and other long texts differ from the template's. `problems` are what
    the static checks find in the rewritten plan.
    """

    directive: str
    equation: str
    round: int
    complaints: tuple[tuple[str, ...], ...]
    seconds: float
    texts: int
    own_texts: int
    chain: str
    problems: tuple[str, ...]
    params: dict[str, Any]

    @property
    def by_whom(self) -> str:
        """Say who wrote the parameters."""
        return f"model, round {self.round}" if self.round else "templates"


async def attempt(case: Case, model: AgentModel) -> Attempt:
    """Let a model propose parameters for a fixture, apply them, and check the plan that follows."""
    one = directive(case.directive)
    site = one.matches(case.before, case.place, FACTS)
    assert isinstance(site, Site), site
    began = time.perf_counter()
    proposal = await GenerationAgent(model).propose(one, site, examples=[_example(site)])
    seconds = time.perf_counter() - began
    after = one.apply(site, proposal.params)
    texts, own = _texts(proposal, one, site)
    return Attempt(
        directive=one.name,
        equation=one.equation,
        round=len(proposal.complaints) + 1 if proposal.by_model else 0,
        complaints=proposal.complaints,
        seconds=round(seconds, 1),
        texts=texts,
        own_texts=own,
        chain=_chain(case.before, after),
        problems=tuple(_problems(case.before, after)),
        params=proposal.params.to_json(),
    )


def _example(site: Site) -> dict[str, Any]:
    reads = site.operator.traits().reads
    return {name: value for name, value in _VALUES.items() if name in reads}


def _problems(before: Plan, after: Plan) -> Iterable[str]:
    """Say what is wrong with a rewritten plan: the checks, its file, the fields that it writes."""
    yield from (str(problem) for problem in check(after))
    if parse_pipeline(to_yaml(after)).plan != after:
        yield "the plan read back from its file is another one"
    flow = field_flow(after)
    for step, fields in field_flow(before).items():
        if flow[step] not in (fields, None):
            yield f"step {step} writes other fields"


def _chain(before: Plan, after: Plan) -> str:
    """Write the operators that each step runs, with a star behind those that the plan had not, or not so."""
    there = set(before.operators)
    shown = {node.name: node.name + ("" if node in there else "*") for node in after.operators}
    return "; ".join(f"{step.name}: {' -> '.join(shown[name] for name in step.operators)}" for step in after.steps)


def _texts(proposal: Proposal, one: AnyDirective, site: Site) -> tuple[int, int]:
    """Count the longer texts of the parameters, and those that are not the template's."""
    templates = set(_long_texts(one.default_params(site).to_json()))
    written = list(_long_texts(proposal.params.to_json()))
    return len(written), sum(text not in templates for text in written)


def _long_texts(value: Any) -> Iterable[str]:
    if isinstance(value, str):
        return [value.strip()] if len(value) >= SHORTEST_PROMPT else []
    parts = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return [text for part in parts for text in _long_texts(part)]


# -- the report ------------------------------------------------------------------------------------------------------


def table(attempts: Sequence[Attempt]) -> str:
    """Write the attempts as a Markdown table, those of the paper by their equation."""
    head = ("directive", "equation", "parameters by", "own texts", "s", "the rewritten plan", "refused before")
    rows = [head, ("---",) * len(head), *(_cells(one) for one in attempts)]
    return "\n".join("| " + " | ".join(row) + " |" for row in rows)


def _cells(one: Attempt) -> tuple[str, ...]:
    refused = " / ".join("; ".join(found) for found in one.complaints)
    own = f"{one.own_texts} of {one.texts}" if one.texts else ""
    cells = (f"`{one.directive}`", one.equation or "later", one.by_whom, own, f"{one.seconds:.0f}", one.chain, refused)
    return tuple(" ".join(cell.replace("|", "\\|").split()) for cell in cells)


def summary(attempts: Sequence[Attempt]) -> str:
    """Say in a line how many were written by the model, for those of the paper and those after it."""
    told = []
    for name, group in (
        ("paper", [one for one in attempts if one.equation]),
        ("later", [one for one in attempts if not one.equation]),
    ):
        counts = [sum(one.round == number for one in group) for number in (1, 2, 0)]
        sound = sum(not one.problems for one in group)
        told.append(
            f"{name}: {len(group)} directives, {counts[0]} by the model in round 1, {counts[1]} in round 2, "
            f"{counts[2]} by templates; {sound} plans pass every check"
        )
    return "\n".join([*told, f"{sum(one.seconds for one in attempts):.0f} s"])


async def measure(path: Path, name: str, digest: str) -> list[Attempt]:
    """Try every directive with a model, one after another, as a build does."""
    only = [part for part in os.environ.get("REDWELL_BENCH_ONLY", "").split(",") if part]
    settings = LlamaSettings(context_tokens=CONTEXT_TOKENS, running=8, kept=8)
    backend = LlamaBackend(path, digest=digest, name=name, settings=settings)
    try:
        cases = [case for case in rewritten_cases() if not only or case.directive in only]
        made = []
        for case in cases:
            made.append(await attempt(case, backend))
            print(f"{case.directive}: {made[-1].by_whom}, {made[-1].seconds:.0f} s", flush=True)
        return made
    finally:
        await backend.close()


def test_directives() -> None:
    """Print the table; write it, and everything that was proposed, where REDWELL_BENCH_OUT says."""
    found = installed(os.environ.get("REDWELL_BENCH_MODEL", MODEL))
    attempts = asyncio.run(measure(found.path, found.title, found.sha256))
    machine = inspect_hardware()
    text = f"{found.title}, {machine.cpu_name}, {machine.cores} cores\n\n{summary(attempts)}\n\n{table(attempts)}\n"
    print(f"\n{text}")
    if out := os.environ.get("REDWELL_BENCH_OUT"):
        folder = Path(out)
        folder.mkdir(parents=True, exist_ok=True)
        told = [asdict(one) for one in attempts]
        body = {"model": found.title, "cpu": machine.cpu_name, "cores": machine.cores, "directives": told}
        (folder / "directives.json").write_text(json.dumps(body, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
        (folder / "directives.md").write_text(text, encoding="utf-8")
    assert [one.problems for one in attempts if one.problems] == []

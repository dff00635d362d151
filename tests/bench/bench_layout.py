"""Whether answers hold when the document goes first, on records with gold: `redwell bench layout`.

The same prompts, written as people write them (instructions, document, question), are asked as written and with
`layout: document_first`. Runs on the default model, or on REDWELL_BENCH_MODEL; cases are kept in REDWELL_BENCH_FOLDER
where it is set, so that a run that was stopped goes on.
"""

from __future__ import annotations

import asyncio
import json
import os
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from needs import shared_rows
from run_rows import run

from engine.executor.events import Event, ModelCall
from engine.loader import parse_pipeline
from models.install import list_models

LAYOUTS = ("as_written", "document_first")

Rows = list[dict[str, Any]]


@dataclass(frozen=True)
class Job:
    """Prompts about rows, the fields they answer with their choices, and the answers people gave: by row and field."""

    rows: Rows
    prompts: Mapping[str, str]
    choices: Mapping[str, Sequence[str]]
    gold: Mapping[str, Mapping[str, str]]


def contracts() -> Job:
    """Ask about each statement of ContractNLI whether the shortest contracts say it: 51 calls."""
    records = sorted(shared_rows("contract_nli/contract_nli.jsonl"), key=lambda record: len(record["text"]))[:3]
    statements = {item["key"]: item["hypothesis"] for record in records for item in record["gold"]}
    prompt = (
        "Here is a contract between a Disclosing Party and a Receiving Party.\n\n{{ input.text }}\n\n"
        "Statement: %s\nDoes the contract say this (Entailment), say the opposite (Contradiction), "
        "or not mention it (NotMentioned)?"
    )
    return Job(
        [{"id": record["id"], "text": record["text"]} for record in records],
        {_field(key): prompt % statement for key, statement in statements.items()},
        {_field(key): ("Entailment", "Contradiction", "NotMentioned") for key in statements},
        {record["id"]: {_field(item["key"]): item["label"] for item in record["gold"]} for record in records},
    )


def findings() -> Job:
    """Ask for category and finding of complaints against the police: 30 records, 60 calls."""
    records = [r for r in shared_rows("police/sf_dpa_allegations.jsonl") if len(r["findings_of_fact"]) >= 400]
    labels = {name: sorted({record["gold"][name] for record in records}) for name in ("category", "finding")}
    prompt = (
        "An office that looks into complaints about the police has closed a case.\n\n"
        "The complaint: {{ input.allegation }}\n\nWhat was found out:\n{{ input.findings_of_fact }}\n\n%s"
    )
    chosen = records[:: len(records) // 30][:30]
    return Job(
        [{name: record[name] for name in ("id", "allegation", "findings_of_fact")} for record in chosen],
        {
            "category": prompt % "Which category does the complaint belong to?",
            "finding": prompt % "What did the office decide about the complaint?",
        },
        labels,
        {record["id"]: record["gold"] for record in chosen},
    )


def _field(key: str) -> str:
    return key.replace("-", "_")


@pytest.mark.parametrize("job", [contracts, findings])
def test_layout(job: Callable[[], Job], tmp_path: Path) -> None:
    """Print the right answers, tokens read and seconds of each layout, and where the two differ."""
    made = job()
    model = os.environ.get("REDWELL_BENCH_MODEL", "")
    if not any(status.installed and status.kind == "language" for status in list_models()):
        pytest.skip("no language model is installed")
    folder = Path(os.environ.get("REDWELL_BENCH_FOLDER") or tmp_path)
    right: dict[str, dict[tuple[str, str], bool]] = {}
    for layout in os.environ.get("REDWELL_BENCH_LAYOUTS", ",".join(LAYOUTS)).split(","):
        start = time.perf_counter()
        answers, calls = _ask(made, layout, model, folder / f"{job.__name__}-{layout}.redwell")
        right[layout] = dict(_judged(made, answers))
        read = sum(call.prompt_tokens - call.reused_tokens for call in calls)
        asked = sum(not call.from_cache for call in calls)
        print(
            f"\n{job.__name__}, {layout}: {_share(made, right[layout])}; {read:,} tokens read, {asked} of {len(calls)} "
            f"calls asked, {time.perf_counter() - start:.0f} s"
        )
    if len(right) == len(LAYOUTS):
        written, first = (right[layout] for layout in LAYOUTS)
        lost = sum(written[key] and not first[key] for key in written)
        won = sum(first[key] and not written[key] for key in written)
        print(f"{job.__name__}: {won} answers right only with the document first, {lost} only as written")


def _share(job: Job, right: Mapping[tuple[str, str], bool]) -> str:
    parts = [f"{sum(right.values())} of {len(right)} right"]
    if len(job.choices) < 5:
        for field in job.choices:
            own = [good for (_, name), good in right.items() if name == field]
            parts.append(f"{field} {sum(own)} of {len(own)}")
    return ", ".join(parts)


def _judged(job: Job, answers: Mapping[str, Mapping[str, Any]]) -> Iterator[tuple[tuple[str, str], bool]]:
    for row, gold in job.gold.items():
        for field in job.choices:
            if field in gold:
                yield (row, field), answers.get(row, {}).get(field) == gold[field]


def _ask(job: Job, layout: str, model: str, path: Path) -> tuple[dict[str, dict[str, Any]], list[ModelCall]]:
    """Run the prompts as one parallel_map; return the rows by id, and the calls."""
    operator = {
        "name": "ask",
        "type": "parallel_map",
        "layout": layout,
        "prompts": [{"prompt": prompt, "output_keys": [field]} for field, prompt in job.prompts.items()],
        "output": {"schema": {field: f"enum[{', '.join(names)}]" for field, names in job.choices.items()}},
    }
    pipeline = {
        "datasets": {"rows": {"type": "memory", "data": job.rows}},
        "operations": [operator],
        "pipeline": {"steps": [{"name": "asked", "input": "rows", "operations": ["ask"]}]},
        "settings": {"max_tokens": 60},
    }
    events: list[Event] = []
    rows = asyncio.run(run(parse_pipeline(json.dumps(pipeline), directory=path.parent), path, model, events.append))
    return {row["id"]: row for row in rows}, [event for event in events if isinstance(event, ModelCall)]

"""Pipelines written for DocETL pass the checks as they are. The files have the shape of its own demos."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from scripted_run import Bench, prompt_of

from engine.errors import PipelineError
from engine.language.checks import check
from engine.language.docetl_keys import NETWORK_OPERATORS, NO_EFFECT_KEYS
from engine.language.writer import to_yaml
from engine.loader import Loaded, load_pipeline, parse_pipeline

FOLDER = Path(__file__).parents[2] / "fixtures" / "docetl"
PAGE = Path(__file__).parents[3] / "docs" / "docetl.md"
FILES = sorted(file.stem for file in FOLDER.glob("*.yaml"))


def load(name: str) -> Loaded:
    return load_pipeline(FOLDER / f"{name}.yaml")


@pytest.mark.parametrize("name", FILES)
def test_the_pipeline_passes_the_checks_with_one_warning_for_all_idle_keys(name: str) -> None:
    loaded = load(name)
    assert [p for p in check(loaded.plan, positions=loaded.positions) if p.severity == "error"] == []
    assert len([w for w in loaded.warnings if "no effect" in w.message]) <= 1
    assert not [w for w in loaded.warnings if "no effect" not in w.message]


@pytest.mark.parametrize("name", FILES)
def test_the_pipeline_is_written_back_as_it_was_understood(name: str) -> None:
    loaded = load(name)
    assert parse_pipeline(to_yaml(loaded.plan)).plan == loaded.plan


def test_idle_keys_are_named_with_whose_they_are_and_sampling_is_honoured() -> None:
    loaded = load("tickets")
    (warning,) = loaded.warnings
    named = warning.message.removeprefix("these keys have no effect on this machine: ").split(", ")
    assert sorted(named) == [
        "bypass_cache (bugs)",
        "default_lm_api_base",
        "enable_observability (classify)",
        "flush_partial_results (classify)",
        "litellm_completion_kwargs.top_p (classify)",
        "llm_api_keys",
        "max_retries_per_timeout (classify)",
        "optimize (classify)",
        "optimizer_config",
        "rate_limits",
    ]
    classify: Any = loaded.plan.operator("classify")
    assert (classify.temperature, classify.max_tokens) == (0.5, 300)
    assert loaded.plan.steps[1].inputs == ("triage",)
    assert loaded.plan.output.path == "bugs.json"


def test_a_pipeline_of_docetl_runs_and_gives_what_docetl_gives(tmp_path: Path) -> None:
    (tmp_path / "tickets.yaml").write_text((FOLDER / "tickets.yaml").read_text())
    tickets = [{"id": 1, "ticket": "It crashes"}, {"id": 2, "ticket": "Make it blue"}]
    (tmp_path / "tickets.json").write_text(json.dumps(tickets))

    def answer(request: Any) -> Any:
        is_bug = "crashes" in prompt_of(request)
        if "is_bug" in json.dumps(request.schema):
            return {"is_bug": is_bug}
        return {"category": "bug" if is_bug else "wish", "reason": "r"}

    desk = Bench(tmp_path, answer)
    result = desk.run_again(load_pipeline(tmp_path / "tickets.yaml"))
    assert desk.values(result) == [{"id": 1, "ticket": "It crashes", "category": "bug", "reason": "r"}]
    desk.case.close()


@pytest.mark.parametrize("kind", sorted(NETWORK_OPERATORS))
def test_operators_that_use_the_network_are_refused_with_the_reason(kind: str) -> None:
    text = (FOLDER / "tickets.yaml").read_text().replace("type: filter", f"type: {kind}")
    with pytest.raises(PipelineError, match="nothing leaves this machine"):
        parse_pipeline(text)


@pytest.mark.parametrize("function", ["whisper_speech_to_text", "gptpdf_to_string", "llama_index_wikipedia_reader"])
def test_parsing_functions_that_use_the_network_are_refused_with_the_reason(function: str) -> None:
    text = (FOLDER / "receipts.yaml").read_text().replace("azure_di_read", function)
    with pytest.raises(PipelineError, match="nothing leaves this machine") as caught:
        parse_pipeline(text)
    assert caught.value.line is not None


def test_the_page_names_every_key_without_effect() -> None:
    page = PAGE.read_text(encoding="utf-8")
    assert [key for key in sorted(NO_EFFECT_KEYS) if not re.search(rf"`{key}`", page)] == []


def test_keys_that_steer_only_docetl_are_accepted_with_a_warning(tmp_path: Path) -> None:
    loaded = parse_pipeline(
        "name: tickets\ndefault_bypass_cache: true\nplan_rewrites: false\n"
        "datasets: {d: {type: folder, path: x}}\n"
        "operations:\n"
        "- {name: tidy, type: map, drop_keys: [kind], batch_size: 8, optimizer_judge_agent_model: gpt-4o}\n"
        "- {name: some, type: sample, method: first, samples: 2, model: gpt-4o}\n"
        "- {name: cut, type: split, split_key: text, method: delimiter, method_kwargs: {delimiter: x}, model: gpt-4o}\n"
        "pipeline: {steps: [{name: s, input: d, operations: [tidy, some, cut]}]}\n"
    )
    (warning,) = loaded.warnings
    own = ("batch_size (tidy)", "optimizer_judge_agent_model (tidy)", "model (some)", "model (cut)")
    for key in ("name", "default_bypass_cache", "plan_rewrites", *own):
        assert key in warning.message.removeprefix("these keys have no effect on this machine: ").split(", ")

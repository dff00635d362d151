"""Every operator has a page; a page names every key, and its examples do what it says."""

from __future__ import annotations

import pytest
from operator_pages import COMMON_PAGE, PAGES, all_examples, examples_of, keys_of, page_text
from scripted_run import Bench

from engine.language.checks import check
from engine.language.writer import to_yaml
from engine.loader import parse_pipeline
from engine.operators.registry import REGISTRY

EXAMPLES = all_examples()


@pytest.mark.parametrize("kind", REGISTRY)
def test_operator_has_a_page_with_an_example(kind):
    assert examples_of(kind)


def test_every_page_is_of_an_operator_or_common():
    assert {page.stem for page in PAGES.glob("*.md")} == {*REGISTRY, COMMON_PAGE}


@pytest.mark.parametrize("kind", REGISTRY)
def test_page_names_every_key(kind):
    known = page_text(kind) + page_text(COMMON_PAGE)
    missing = sorted(key for key in keys_of(kind) if f"`{key}`" not in known)
    assert not missing


@pytest.mark.parametrize("example", EXAMPLES, ids=str)
def test_example_passes_the_checks(example, tmp_path):
    loaded = example.write(tmp_path)
    assert not [p for p in check(loaded.plan, positions=loaded.positions) if p.severity == "error"]


@pytest.mark.parametrize("example", EXAMPLES, ids=str)
def test_example_is_the_same_written_and_read_again(example, tmp_path):
    plan = example.write(tmp_path).plan
    assert parse_pipeline(to_yaml(plan)).plan == plan


@pytest.mark.parametrize("example", [e for e in EXAMPLES if not e.asks_model], ids=str)
def test_example_without_a_model_gives_what_its_page_says(example, tmp_path):
    loaded = example.write(tmp_path)
    assert example.output is not None, "an example that asks no model says what comes out: output.json"
    bench = Bench(tmp_path)
    bench.choose(trust_code=example.runs_code)
    result = bench.run_again(loaded)
    assert result.failed_items == 0
    assert bench.values(result) == example.output

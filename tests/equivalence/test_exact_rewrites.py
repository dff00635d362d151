"""Exact rewrites: the plan as written and the rewritten one give the same rows, ids, lineage, evidence and reasons."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import pytest
from comparing_runs import Ran, close, run_both
from scripted_run import Bench, pipeline, prompt_of, write_jsonl, write_texts

import engine.executor.stages
import engine.operators.running
from engine.executor.events import OperatorStarted
from engine.loader import parse_pipeline
from engine.operators.base import Operator, Outcome, Rejected
from engine.operators.registry import REGISTRY
from engine.plan.node import Node, Traits
from engine.plan.rewrites import rewritten
from models.errors import OutOfTokens

Both = Callable[..., tuple[Ran, Ran]]


@pytest.fixture
def both(tmp_path: Path) -> Iterator[Both]:
    ran: list[Ran] = []

    def run(loaded, answer):
        ran.extend(run_both(tmp_path, loaded, answer))
        return ran[0], ran[1]

    yield run
    close(*ran)


def assert_same_results(written: Ran, rewritten: Ran) -> None:
    assert rewritten.rows == written.rows
    assert rewritten.lineage == written.lineage
    assert rewritten.evidence == written.evidence
    assert rewritten.result.columns == written.result.columns
    assert set(rewritten.prompts) <= set(written.prompts), "a rewrite asked something that the plan does not ask"
    assert rewritten.desk.case.ledger.sums(rewritten.result.run_id).adds_up


TEXTS = {
    "a.txt": "Sgt. Varrick struck the man.",
    "b.txt": "Nothing happened.",
    "c.txt": "Officer Tullock struck a wall.",
    "d.txt": "It rained. " * 40,
}


def answer(request: Any) -> Any:
    prompt = prompt_of(request)
    values = {
        "officer": "Varrick" if "Varrick" in prompt else "Tullock",
        "copy": "It rained. " * 20,
        "quote": request.schema["properties"].get("quote", {}).get("enum", [""])[-1],
        "keep": "struck" in prompt,
        "k": True,
        "reason": "because",
        "sum": f"of {len(prompt)}",
    }
    return {name: values[name] for name in request.schema["properties"]}


LIST = (
    '  - {name: list, type: map, prompt: "Who?\\n{{ input.text }}", output: {schema: {officer: string, copy: string}}}'
)
KEEP = (
    '  - {name: keep, type: filter, prompt: "{{ input.text }}\\nViolent?", '
    'output: {schema: {quote: "quote(text)", reason: string, keep: boolean}}}'
)


def test_a_filter_decides_before_a_map_that_it_does_not_read(both, tmp_path) -> None:
    written, rewritten = both(pipeline(write_texts(tmp_path / "in", TEXTS), f"{LIST}\n{KEEP}"), answer)
    assert_same_results(written, rewritten)
    assert written.ends() == rewritten.ends()
    assert len(written.rows) == 2
    assert (len(written.prompts), len(rewritten.prompts)) == (4 + 4, 4 + 2)
    ledger = rewritten.desk.case.ledger.sums(rewritten.result.run_id)
    assert [(o.operator, o.rows_in, o.rejected, o.rows_out) for o in ledger.operators] == [
        ("records", 4, 0, 4),
        ("list", 2, 0, 2),
        ("keep", 4, 2, 2),
    ]


OF_OFFICER = (
    '  - {name: keep, type: filter, prompt: "{{ input.officer }} struck?", output: {schema: {keep: boolean}}}',
    '  - {name: keep, type: filter, prompt: "{{ input }}", output: {schema: {keep: boolean}}}',
    "  - {name: keep, type: filter, condition: \"input.get('officer') == 'Varrick'\"}",
    "  - {name: keep, type: filter, condition: \"input['off' + 'icer'] == 'Varrick'\"}",
    '  - {name: keep, type: filter, prompt: "{{ input.text }}", output: {schema: {quote: quote(officer), k: boolean}}}',
    "  - {name: one, type: reduce, reduce_key: filename, pass_through: true, aggregate: {n: {count: text}}}\n" + KEEP,
)


@pytest.mark.parametrize("operations", OF_OFFICER)
def test_a_filter_that_may_look_at_what_a_map_writes_stays(both, tmp_path, operations) -> None:
    loaded = pipeline(write_texts(tmp_path / "in", TEXTS), f"{LIST}\n{operations}")
    assert "push_filter_down" not in {r.rule for r in rewritten(loaded.plan).rewrites}
    written, again = both(loaded, answer)
    assert_same_results(written, again)
    assert written.prompts == again.prompts


def test_a_filter_by_readings_compares_all_rows_and_stays(tmp_path) -> None:
    operations = f"{LIST}\n  - {{name: keep, type: filter, readings: [pages]}}"
    assert rewritten(pipeline(write_texts(tmp_path / "in", TEXTS), operations).plan).rewrites == ()


def test_of_two_filters_the_first_gives_the_reason(both, tmp_path) -> None:
    other = "  - {name: short, type: filter, condition: input.text | length < 100}"
    loaded = pipeline(write_texts(tmp_path / "in", TEXTS), f"{LIST}\n{KEEP}\n{LIST.replace('list', 'again')}\n{other}")
    written, again = both(loaded, answer)
    assert_same_results(written, again)
    assert written.ends() == again.ends()
    assert [r.target for r in rewritten(loaded.plan).rewrites if r.rule == "push_filter_down"] == ["keep", "short"]
    # Both decide before anything is listed, in their own order: each text is judged, then two are listed twice.
    assert len(again.prompts) == 4 + 2
    assert {end[0] for end in written.ends().values()} == {"keep"}


def test_ids_written_into_values_are_those_of_the_plan(both, tmp_path) -> None:
    split = "  - {name: cut, type: split, split_key: text, method: delimiter, method_kwargs: {delimiter: ' '}}"
    written, again = both(pipeline(write_texts(tmp_path / "in", TEXTS), f"{LIST}\n{KEEP}\n{split}"), answer)
    assert_same_results(written, again)
    assert {dict(row[1])["cut_id"] for row in again.rows} == {row[2][0] for row in again.rows}


def test_failures_of_operators_that_a_row_no_longer_reaches_may_differ_and_nothing_else(both, tmp_path) -> None:
    def failing(request):
        if "Who?" in prompt_of(request):
            raise_out_of_tokens()
        return answer(request)

    written, again = both(pipeline(write_texts(tmp_path / "in", TEXTS), f"{LIST}\n{KEEP}"), failing)
    assert [end[:2] for end in written.ends().values()] == [("list", "failed")] * 4
    assert sorted(end[:2] for end in again.ends().values()) == [("keep", "rejected")] * 2 + [("list", "failed")] * 2


def raise_out_of_tokens() -> None:
    raise OutOfTokens("cut", partial="{")


def test_a_text_that_happens_to_be_in_the_prompt_changes_no_request(both, tmp_path) -> None:
    """`copy` is a long part of d.txt: it must not cut the prompt of a filter that does not read it."""
    ask = '  - {name: keep, type: filter, prompt: "{{ input.text[:230] }} Wet?", output: {schema: {keep: boolean}}}'
    loaded = pipeline(write_texts(tmp_path / "in", TEXTS), f"{LIST}\n{ask}")
    written, again = both(loaded, lambda request: answer(request) if "Who?" in prompt_of(request) else {"keep": True})
    assert_same_results(written, again)
    assert written.prompts == again.prompts


REDUCE = (
    "  - {name: sum, type: reduce, reduce_key: officer, output: {schema: {sum: string}}, "
    'prompt: "{% for i in inputs %}{{ i.text[:230] }};{% endfor %}"}'
)


def test_a_reduce_is_given_the_columns_it_reads(both, tmp_path) -> None:
    loaded = pipeline(write_texts(tmp_path / "in", TEXTS), f"{LIST}\n{REDUCE}")
    assert [r.rule for r in rewritten(loaded.plan).rewrites] == ["drop_unread_columns"]
    written, again = both(loaded, answer)
    assert_same_results(written, again)
    assert written.prompts == again.prompts
    # What is stored is whole: evidence and tracing need it.
    [records] = {len(row.values) for row in again.desk.case.rows.of_operator(again.result.run_id, "list")}
    assert records == 7


@pytest.mark.parametrize(
    "prompt", ["{{ inputs }}", "{% for i in inputs %}{{ i }}{% endfor %}", "{{ inputs[0] | tojson }}"]
)
def test_a_reduce_that_reads_rows_whole_sees_every_column(both, tmp_path, prompt) -> None:
    reduce = (
        f'  - {{name: sum, type: reduce, reduce_key: officer, prompt: "{prompt}", output: {{schema: {{sum: string}}}}}}'
    )
    loaded = pipeline(write_texts(tmp_path / "in", TEXTS), f"{LIST}\n{reduce}")
    assert rewritten(loaded.plan).rewrites == ()
    written, again = both(loaded, answer)
    assert_same_results(written, again)


# -- limits ----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class First(Node):
    kind: ClassVar[str] = "first"
    count: int

    def traits(self) -> Traits:
        none: frozenset[str] = frozenset()
        return Traits(none, none, cardinality="zero_or_one", row_local=False, calls_model=False, keeps_first=self.count)


async def run_first(node, rows, tools):
    behind = [Rejected(row, f"not among the first {node.count}") for row in rows[node.count :]]
    return Outcome([row.derive(node.name, row.values) for row in rows[: node.count]], behind)


@pytest.fixture
def registry(monkeypatch):
    kinds = {**REGISTRY, "first": Operator(First, run_first), "clean": Operator(Clean, run_clean, run_all_clean)}
    for module in (engine.executor.stages, engine.operators.running):
        monkeypatch.setattr(module, "REGISTRY", kinds)
    return kinds


LIMITED = """
datasets: {{records: {{type: file, path: {file}}}}}
operations:
  - {{name: list, type: map, prompt: "Who?\\n{{{{ input.text }}}}", output: {{schema: {{officer: string}}}}}}
  - {{name: some, type: first, count: {count}}}
pipeline: {{steps: [{{name: one, input: records, operations: [list, some]}}]}}
"""


@pytest.mark.parametrize(
    ("count", "bad", "calls"), [(2, (), 2), (2, (0, 2), 4), (0, (), 0), (9, (1,), 6), (3, (4,), 3)]
)
def test_no_more_rows_are_worked_on_than_a_limit_keeps(both, tmp_path, registry, count, bad, calls) -> None:
    file = write_jsonl(tmp_path / "in.jsonl", [{"text": f"row {n}"} for n in range(6)])

    def failing(request):
        if any(f"row {n}" in prompt_of(request) for n in bad):
            raise_out_of_tokens()
        return answer(request)

    loaded = parse_pipeline(LIMITED.format(file=file, count=count), directory=tmp_path, registry=registry)
    written, again = both(loaded, failing)
    assert_same_results(written, again)
    assert (len(written.prompts), len(again.prompts)) == (6, calls)
    ends = written.ends()
    differing = {ends[id] for id, end in again.ends().items() if end != ends[id]}
    assert differing <= {("list", "failed", "")}
    assert bool(differing) == (bad == (4,)), "only a row that is no longer reached ends otherwise"


# -- the user's code -------------------------------------------------------------------------------------------------

TRIPS: list[int] = []


@dataclass(frozen=True, kw_only=True)
class Clean(Node):
    kind: ClassVar[str] = "clean"
    code: str

    def traits(self) -> Traits:
        none: frozenset[str] = frozenset()
        return Traits(none, none, cardinality="zero_or_one", calls_model=False, reads_unknown=True, fuses="code")


async def run_clean(node, rows, tools):
    TRIPS.append(1)
    kept = [row for row in rows if node.code not in row.values["text"]]
    turned = [Rejected(row, f"has {node.code}") for row in rows if node.code in row.values["text"]]
    return Outcome([row.derive(node.name, {**row.values, node.name: len(row.values)}) for row in kept], turned)


async def run_all_clean(nodes, rows, tools):
    outcomes = []
    for node in nodes:
        outcomes.append(await run_clean(node, rows, tools))
        rows = outcomes[-1].rows
    TRIPS[:] = [*TRIPS[: -len(nodes)], 1]
    return outcomes


CLEAN = """
datasets: {{records: {{type: file, path: {file}}}}}
operations:
  - {{name: x, type: clean, code: x}}
  - {{name: y, type: clean, code: y}}
  - {{name: list, type: map, prompt: "{{{{ input.text }}}}", output: {{schema: {{officer: string}}}}}}
  - {{name: z, type: clean, code: z}}
pipeline: {{steps: [{{name: one, input: records, operations: [x, y, list, z]}}]}}
"""


def test_neighbouring_code_operators_make_one_trip_and_keep_their_accounts(both, tmp_path, registry) -> None:
    file = write_jsonl(tmp_path / "in.jsonl", [{"text": text} for text in ("a", "x", "y", "z", "b")])
    loaded = parse_pipeline(CLEAN.format(file=file), directory=tmp_path, registry=registry)
    TRIPS.clear()
    written, again = both(loaded, answer)
    assert_same_results(written, again)
    assert written.ends() == again.ends()
    ledgers = [ran.desk.case.ledger.sums(ran.result.run_id).operators for ran in (written, again)]
    assert ledgers[0] == ledgers[1]
    assert [r.rule for r in rewritten(loaded.plan).rewrites] == ["fuse_code"]
    assert len(TRIPS) == (5 + 4 + 3) + (5 + 3)


# -- steps -----------------------------------------------------------------------------------------------------------

DIAMOND = """
datasets: {{records: {{type: folder, path: {folder}}}}}
operations:
{LIST}
{KEEP}
  - {{name: other, type: map, prompt: "Other?\\n{{{{ input.text }}}}", output: {{schema: {{sum: string}}}}}}
  - {{name: last, type: map, prompt: "Last?\\n{{{{ input.text }}}}", output: {{schema: {{reason: string}}}}}}
pipeline:
  steps:
    - {{name: one, input: records, operations: [list]}}
    - {{name: two, input: records, operations: [other]}}
    - {{name: three, input: one, operations: [keep]}}
    - {{name: four, input: [three, two], operations: [last]}}
"""


def test_steps_are_joined_and_overlap_with_the_ledger_in_the_order_of_the_plan(both, tmp_path) -> None:
    text = DIAMOND.format(folder=write_texts(tmp_path / "in", TEXTS), LIST=LIST, KEEP=KEEP)
    loaded = parse_pipeline(text, directory=tmp_path)
    rules = [(r.rule, r.target) for r in rewritten(loaded.plan).rewrites]
    assert rules == [("join_steps", "one"), ("push_filter_down", "keep"), ("overlap_steps", "two, three")]
    written, again = both(loaded, answer)
    assert_same_results(written, again)
    for ran in (written, again):
        names = [o.operator for o in ran.desk.case.ledger.sums(ran.result.run_id).operators]
        assert names == ["records", "list", "other", "keep", "last"]
    assert [e.operator for e in again.desk.of(OperatorStarted)][:2] == ["other", "list"]


def test_a_step_that_two_others_read_is_run_once(tmp_path) -> None:
    text = DIAMOND.format(folder=write_texts(tmp_path / "in", TEXTS), LIST=LIST, KEEP=KEEP).replace(
        "input: records, operations: [other]", "input: one, operations: [other]"
    )
    workflow = rewritten(parse_pipeline(text, directory=tmp_path).plan)
    assert [step.name for step in workflow.steps] == ["one", "two", "three", "four"]


def test_the_first_error_of_overlapping_steps_ends_the_run(tmp_path) -> None:
    text = DIAMOND.format(folder=write_texts(tmp_path / "in", TEXTS), LIST=LIST, KEEP=KEEP)

    def broken(request):
        if "Other?" in prompt_of(request):
            raise ZeroDivisionError
        return answer(request)

    desk = Bench(tmp_path, broken)
    with desk.case, pytest.raises(ZeroDivisionError):
        desk.run_again(parse_pipeline(text, directory=tmp_path))

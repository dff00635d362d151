"""Whatever the pipeline and whatever fails: no row is lost, every output leads back to a document (invariants 1, 5).

Each pipeline is run as written and after its exact rewrites; both must close, and give the same rows.
"""

from __future__ import annotations

import asyncio
import dataclasses
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from unittest.mock import patch

import pymupdf
import pytest
from faulty_model import FaultyBackend
from hypothesis import HealthCheck, Phase, find, given, settings
from hypothesis import strategies as st
from operator_pages import all_examples
from random_pipelines import TEXTS, answer_with, faults_of, pipelines
from scripted_model import ScriptedBackend
from scripted_run import Bench, pipeline, write_texts

from engine.executor.run import _Run
from engine.loader import Loaded
from engine.plan.work import named_apart

# -- the case of the documents is made once; known files are not parsed again ----------------------------------------


@pytest.fixture(scope="module")
def ingested(tmp_path_factory) -> Path:
    home = tmp_path_factory.mktemp("ledger")
    write_texts(home / "in", TEXTS)
    with pymupdf.open() as pdf:
        pdf.new_page()
        pdf.save(home / "in" / "blank.pdf")
    desk = Bench(home)
    desk.run_again(pipeline(home / "in", "  - {name: none, type: map, drop_keys: [kind]}"))
    desk.case.close()
    return home


@contextmanager
def copied(home: Path) -> Iterator[Bench]:
    with tempfile.TemporaryDirectory() as name:
        shutil.copy(home / "case.redwell", name)
        desk = Bench(Path(name))
        with desk.case:
            yield desk


def run(desk, loaded: Loaded, salt, every, *, rewrite=False):
    """Run; return the result and the executor's rows, those it held in memory and those it delivered."""
    held = []
    deliver = _Run._deliver

    def watch(self, rows, passages):
        held.append((self, list(rows)))
        return deliver(self, rows, passages)

    desk.options = dataclasses.replace(desk.options, rewrite=rewrite)
    desk.backend = FaultyBackend(ScriptedBackend(answer_with(salt), context_tokens=100_000), faults_of(salt, every))
    with patch.object(_Run, "_deliver", watch):
        result = asyncio.run(desk.run(loaded))
    ((executor, rows),) = held
    return result, executor._rows, rows


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(drawn=pipelines(), salt=st.integers(0, 10**6), every=st.sampled_from([4, 9, 10**9]))
def test_the_ledger_closes_and_lineage_leads_both_ways(ingested, drawn, salt, every) -> None:
    loaded = pipeline(ingested / "in", drawn.operations, steps=drawn.steps)
    with copied(ingested) as desk, copied(ingested) as other:
        result, memory, rows = run(desk, loaded, salt, every)
        case, run_id = desk.case, result.run_id
        check_documents(case, run_id)
        check_sums(case, run_id, result)
        check_every_row_has_a_fate(loaded, case, run_id)
        check_lineage(case, run_id, memory, rows)
        assert case.ledger.sums(run_id).operators[-1].rows_out == result.rows or "four" in drawn.steps

        rewritten, memory, again = run(other, loaded, salt, every, rewrite=True)
        check_sums(other.case, rewritten.run_id, rewritten)
        check_lineage(other.case, rewritten.run_id, memory, again)
        assert again == rows, "an exact rewrite changed the results"
        names = [o.operator for o in case.ledger.sums(run_id).operators]
        assert [o.operator for o in other.case.ledger.sums(rewritten.run_id).operators] == names

        first = desk.csv(result), case.ledger.sums(run_id)
        repeated, _, _ = run(desk, loaded, salt, every)
        assert (desk.csv(repeated), case.ledger.sums(repeated.run_id)) == first
        assert case.replies.calls_of_run(repeated.run_id) == {}


@pytest.mark.parametrize(("salt", "rewrite"), [(0, False), (0, True), (1, False), (2, True)])
@pytest.mark.parametrize("example", all_examples(), ids=str)
def test_the_ledger_closes_for_every_operator_on_the_example_of_its_page(tmp_path, example, salt, rewrite) -> None:
    loaded = example.write(tmp_path)
    desk = Bench(tmp_path)
    desk.choose(trust_code=example.runs_code)
    with desk.case:
        result, memory, rows = run(desk, loaded, salt, 10**9 if salt == 0 else 5, rewrite=rewrite)
        check_sums(desk.case, result.run_id, result)
        check_lineage(desk.case, result.run_id, memory, rows)


def check_documents(case, run_id) -> None:
    ledger = case.ledger.sums(run_id)
    assert (ledger.documents.found, ledger.documents.parsed) == (len(TEXTS) + 1,) * 2
    source = ledger.operators[0]
    assert (source.rows_in, source.rejected, source.rows_out) == (len(TEXTS) + 1, 1, len(TEXTS))


def check_sums(case, run_id, result) -> None:
    ledger = case.ledger.sums(run_id)
    assert ledger.adds_up
    assert ledger.failed == result.failed_items == len(case.ledger.fates(run_id, fate="failed"))
    assert result.exit_code == (1 if result.failed_items else 0)


def check_every_row_has_a_fate(loaded, case, run_id) -> None:
    """What one operator put out is what the next was given, over all steps of the plan as written."""
    out = {d.name: [row.id for row in case.rows.of_operator(run_id, d.name)] for d in loaded.plan.datasets}
    apart = named_apart(loaded.plan)
    for step in loaded.plan.steps:
        given = list(dict.fromkeys(id for name in step.inputs for id in out[name]))
        for node in apart[step.name]:
            fates = {f.record.row_id: f.record for f in case.ledger.fates(run_id, node.name)}
            assert set(fates) == set(given)
            made = case.rows.of_operator(run_id, node.name)
            carried = {parent for row in made for parent in row.parents} | {row.id for row in made}
            for id, fate in fates.items():
                assert fate.fate != "output" or id in carried
                assert fate.fate != "rejected" or fate.reason
                assert fate.fate != "failed" or (f"operator {node.name!r}" in fate.error and f"row {id}" in fate.error)
            given = [row.id for row in made]
        out[step.name] = given


def check_lineage(case, run_id, memory, rows) -> None:
    check_every_row_leads_somewhere(case, run_id, memory, rows)
    check_outputs_lead_back(case, run_id, memory, rows)
    check_case_agrees_with_memory(case, run_id, memory, rows)


def check_every_row_leads_somewhere(case, run_id, memory, rows) -> None:
    """Each document, and each row made of one, reaches an output row, a rejection or a failure."""
    ended = {f.record.row_id for fate in ("rejected", "failed") for f in case.ledger.fates(run_id, fate=fate)}
    ended |= {row.id for row in rows}
    sources = {
        f.record.row_id for d in case.ledger.sums(run_id).operators[:1] for f in case.ledger.fates(run_id, d.operator)
    }
    children = {parent for row in memory.values() for parent in row.parents}
    for id in sources | set(memory):
        assert id in ended or id in children, f"row {id} leads nowhere"


def check_outputs_lead_back(case, run_id, memory, rows) -> None:
    """Every output row reaches a source row, and its evidence lies in documents it reaches."""
    for row in rows:
        relatives = case.rows.ancestors(run_id, row.id)
        assert any(not memory[id].parents for id in (row.id, *(relative.id for relative in relatives)))
        documents = {r.document_id for r in relatives} | {row.document_id}
        assert any(r.document_id for r in memory.values()) <= bool(documents - {None})
        assert all(relative.operator for relative in relatives), "an ancestor that is not in the case"
        found = {e.document_id for e in case.evidence.of_row(run_id, row.id)}
        assert found <= documents | {None}


def check_case_agrees_with_memory(case, run_id, memory, rows) -> None:
    results = case.runs.results(run_id)
    assert list(results.row_ids) == [row.id for row in rows]
    stored = {r.id: r for o in case.ledger.sums(run_id).operators for r in case.rows.of_operator(run_id, o.operator)}
    assert set(stored) == set(memory)
    for id, row in memory.items():
        record = stored[id]
        assert record.values == row.values
        assert record.parents == row.parents
        assert record.document_id == row.document_id
        assert (record.first_line, record.last_line) == ((row.span.first, row.span.last) if row.span else (None, None))


@pytest.mark.parametrize("kind", ["map", "filter", "unnest", "split", "gather", "resolve", "reduce"])
def test_every_operator_is_drawn_also_behind_others(kind) -> None:
    many = settings(max_examples=5000, database=None, phases=[Phase.generate])

    def is_behind_others(drawn):
        return f"type: {kind}," in drawn.operations and drawn.operations.count("name:") >= 3

    assert is_behind_others(find(pipelines(), is_behind_others, settings=many))


def test_branches_are_drawn() -> None:
    many = settings(max_examples=500, database=None, phases=[Phase.generate])
    assert find(pipelines(), lambda drawn: "four" in drawn.steps, settings=many)

"""Whatever the pipeline and whatever fails: no row is lost, every output leads back to a document (invariants 1, 5)."""

from __future__ import annotations

import asyncio
import hashlib
import random
import shutil
import string
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from unittest.mock import patch

import pymupdf
import pytest
from hypothesis import HealthCheck, find, given, settings
from hypothesis import strategies as st
from scripted_run import Bench, pipeline, write_texts

from engine.executor.run import _Run
from models.faulty import Fault, FaultyBackend
from models.scripted import ScriptedBackend

WORDS = ("Varrick", "Varick", "Tullock", "Tulock", "Ashgrove", "nobody")
TEXTS = {
    "a.txt": "Varrick struck the man.\n\nTullock watched.\n\nAshgrove lied.",
    "b.txt": "Tulock searched the house.\n\nVarick wrote it down.",
    "c.txt": "nobody was there",
    "sub.md": "# Findings\n\nAshgrove and Varrick.",
}


# -- pipelines -------------------------------------------------------------------------------------------------------


@dataclass
class Flow:
    """The fields of the rows so far, so that only pipelines that pass the static checks are drawn."""

    texts: set[str] = field(default_factory=lambda: {"text"})
    lists: set[str] = field(default_factory=set)
    may_split: bool = True
    chunks: tuple[str, str] | None = None
    """The field of chunks and the split that wrote it."""


def some(draw, fields):
    return draw(st.sampled_from(sorted(fields)))


def draw_map(draw, flow, name):
    source, written = some(draw, flow.texts), f"w_{name}"
    flow.texts.add(written)
    return f'type: map, prompt: "{name} {{{{ input.{source} }}}}", output: {{schema: {{{written}: string}}}}'


def draw_batches(draw, flow, name):
    source, written = some(draw, flow.texts), f"b_{name}"
    flow.texts.add(written)
    calibrate = str(draw(st.booleans())).lower()
    return (
        f'type: map, prompt: "{name} {{{{ input.{source} }}}}", max_batch_size: {draw(st.integers(1, 3))}, '
        f'batch_prompt: "{name} {{% for i in inputs %}}{{{{ i.{source} }}}};{{% endfor %}}", '
        f"calibrate: {calibrate}, num_calibration_docs: 2, output: {{schema: {{{written}: string}}}}"
    )


def draw_samples(draw, flow, name):
    source, written = some(draw, flow.texts), f"s_{name}"
    flow.texts.add(written)
    prompt = f"{name} {{{{ input.{source} }}}}"
    return f'type: map, prompt: "{prompt}", output: {{schema: {{{written}: string}}, n: 2}}'


def draw_parallel(draw, flow, name):
    source, written = some(draw, flow.texts), [f"p_{name}", f"q_{name}"]
    flow.texts |= set(written)
    prompts = ", ".join(f'{{prompt: "{key} {{{{ input.{source} }}}}", output_keys: [{key}]}}' for key in written)
    schema = ", ".join(f"{key}: string" for key in written)
    return f"type: parallel_map, prompts: [{prompts}], output: {{schema: {{{schema}}}}}"


def draw_extract(draw, flow, name):
    source = some(draw, flow.texts)
    flow.texts.add(f"{source}_extracted_{name}")
    return f"type: extract, extraction_method: regex, prompt: {name}, document_keys: [{source}]"


def draw_list(draw, flow, name):
    source, written = some(draw, flow.texts), f"l_{name}"
    flow.lists.add(written)
    return f'type: map, prompt: "{name} {{{{ input.{source} }}}}", output: {{schema: {{{written}: "list[string]"}}}}'


def draw_filter(draw, flow, name):
    source = some(draw, flow.texts)
    return f'type: filter, prompt: "{name} {{{{ input.{source} }}}}", output: {{schema: {{yes_{name}: boolean}}}}'


def draw_unnest(draw, flow, name):
    source = some(draw, flow.lists)
    flow.lists.remove(source)
    keep_empty = draw(st.booleans())
    if not keep_empty:
        flow.texts.add(source)
    return f"type: unnest, unnest_key: {source}, keep_empty: {str(keep_empty).lower()}"


def draw_split(draw, flow, name):
    source = some(draw, flow.texts)
    flow.texts.add(f"{source}_chunk")
    flow.may_split = False
    flow.chunks = (f"{source}_chunk", name)
    return f'type: split, split_key: {source}, method: delimiter, method_kwargs: {{delimiter: "\\n\\n"}}'


def draw_gather(draw, flow, name):
    key, split = flow.chunks
    flow.texts.add(f"{key}_rendered")
    around = draw(st.sampled_from(["{}", "{previous: {tail: {count: 1}}}"]))
    return (
        f"type: gather, content_key: {key}, doc_id_key: {split}_id, order_key: {split}_chunk_num, "
        f"peripheral_chunks: {around}"
    )


def draw_resolve(draw, flow, name):
    source = some(draw, flow.texts)
    prompt = f"{name} {{{{ input1.{source} }}}} = {{{{ input2.{source} }}}}"
    schema = f"{{schema: {{{source}: string}}}}"
    threshold = draw(st.sampled_from([-1, 0.3, 0.9]))
    return f'type: resolve, comparison_prompt: "{prompt}", output: {schema}, blocking_threshold: {threshold}'


def draw_reduce(draw, flow, name):
    key = some(draw, flow.texts | {"_all"})
    inside = some(draw, flow.texts)
    flow.texts = ({key} - {"_all"}) | {f"n_{name}"}
    flow.lists = {f"c_{name}"}
    flow.may_split, flow.chunks = False, None  # what is left has no text of a document
    prompt = f'prompt: "{name} {{% for i in inputs %}}{{{{ i.{inside} }}}};{{% endfor %}}", '
    more = draw(st.sampled_from(["", "fold_batch_size: 1, ", "fold_batch_size: 1, merge_batch_size: 2, "]))
    more += draw(st.sampled_from(["", "value_sampling: {method: random, sample_size: 2}, "]))
    return (
        f"type: reduce, reduce_key: {key}, {prompt}{more}output: {{schema: {{n_{name}: string}}}}, "
        f"aggregate: {{c_{name}: {{collect: {inside}}}}}"
    )


@st.composite
def pipelines(draw) -> str:
    flow, lines = Flow(), []
    for number in range(draw(st.integers(1, 6))):
        kinds = [draw_map, draw_list, draw_filter, draw_resolve, draw_reduce]
        kinds += [draw_batches, draw_samples, draw_parallel, draw_extract]
        kinds += [draw_unnest] if flow.lists else []
        kinds += [draw_split] if flow.may_split else []
        kinds += [draw_gather] if flow.chunks else []
        name = f"op{string.ascii_lowercase[number]}"
        lines.append(f"  - {{name: {name}, {draw(st.sampled_from(kinds))(draw, flow, name)}}}")
    return "\n".join(lines)


# -- a model that answers and fails by the request alone -------------------------------------------------------------


def number_of(request, salt: int) -> int:
    return int.from_bytes(hashlib.sha256(f"{salt} {request.digest}".encode()).digest()[:8], "big")


def answer_with(salt: int):
    def value(schema, chance):
        match schema.get("type"):
            case "object":
                return {key: value(inner, chance) for key, inner in schema["properties"].items()}
            case "array":
                return [value(schema["items"], chance) for _ in range(chance.randrange(3))]
            case "boolean":
                return chance.random() < 0.6
            case _:
                return chance.choice(WORDS)

    return lambda request: value(request.schema, random.Random(number_of(request, salt)))


def faults_of(salt: int, every: int) -> list[Fault]:
    kinds = ("prompt_too_long", "out_of_tokens", "model_crashed")

    def strikes(place):
        return lambda request: number_of(request, salt) % every == place

    return [Fault(kind, when=strikes(place)) for place, kind in enumerate(kinds)]


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


def run(desk, home, operations, salt, every):
    """Run; return the result and the executor with the rows it held in memory."""
    held = []
    deliver = _Run._deliver

    def watch(self, rows):
        held.append((self, list(rows)))
        return deliver(self, rows)

    desk.backend = FaultyBackend(ScriptedBackend(answer_with(salt), context_tokens=100_000), faults_of(salt, every))
    with patch.object(_Run, "_deliver", watch):
        result = asyncio.run(desk.run(pipeline(home / "in", operations)))
    ((executor, rows),) = held
    return result, executor._rows, rows


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(operations=pipelines(), salt=st.integers(0, 10**6), every=st.sampled_from([4, 9, 10**9]))
def test_the_ledger_closes_and_lineage_leads_both_ways(ingested, operations, salt, every) -> None:
    with copied(ingested) as desk:
        result, memory, rows = run(desk, ingested, operations, salt, every)
        case, run_id = desk.case, result.run_id
        check_sums(case, run_id, result)
        check_every_row_has_a_fate(case, run_id)
        check_documents_lead_somewhere(case, run_id, rows)
        check_outputs_lead_back(case, run_id, rows)
        check_case_agrees_with_memory(case, run_id, memory, rows)

        first = desk.csv(result), case.ledger(run_id)
        again, _, _ = run(desk, ingested, operations, salt, every)
        assert (desk.csv(again), case.ledger(again.run_id)) == first
        assert case.calls_of_run(again.run_id) == {}


def check_sums(case, run_id, result) -> None:
    ledger = case.ledger(run_id)
    assert ledger.adds_up
    assert (ledger.documents.found, ledger.documents.parsed) == (len(TEXTS) + 1,) * 2
    assert ledger.failed == result.failed_items == len(case.fates(run_id, fate="failed"))
    assert result.exit_code == (1 if result.failed_items else 0)
    source, *operators = ledger.operators
    assert (source.rows_in, source.rejected, source.rows_out) == (len(TEXTS) + 1, 1, len(TEXTS))
    # What one operator put out is what the next was given.
    for before, after in zip(ledger.operators, operators, strict=False):
        assert after.rows_in == before.rows_out
    assert ledger.operators[-1].rows_out == result.rows


def check_every_row_has_a_fate(case, run_id) -> None:
    source, *operators = [o.operator for o in case.ledger(run_id).operators]
    given = [row.id for row in case.rows(run_id, source)]
    for operator in operators:
        fates = {f.record.row_id: f.record for f in case.fates(run_id, operator)}
        assert set(fates) == set(given)
        out = case.rows(run_id, operator)
        carried = {parent for row in out for parent in row.parents} | {row.id for row in out}
        for id, fate in fates.items():
            assert fate.fate != "output" or id in carried
            assert fate.fate != "rejected" or fate.reason
            assert fate.fate != "failed" or (f"operator {operator!r}" in fate.error and f"row {id}" in fate.error)
        given = [row.id for row in out]


def check_documents_lead_somewhere(case, run_id, rows) -> None:
    """Each document reaches an output row, a rejection or a failure."""
    ends = {row.id for row in rows}
    ends |= {f.record.row_id for fate in ("rejected", "failed") for f in case.fates(run_id, fate=fate)}
    source = case.ledger(run_id).operators[0].operator
    sources = [f.record.row_id for f in case.fates(run_id, source)]
    assert len(sources) == len(TEXTS) + 1
    for id in sources:
        assert id in ends or ends & {relative.id for relative in case.descendants(run_id, id)}


def check_outputs_lead_back(case, run_id, rows) -> None:
    """Every output row reaches at least one document, and its evidence lies in documents it reaches."""
    for row in rows:
        relatives = case.ancestors(run_id, row.id)
        documents = {r.document_id for r in relatives} | {row.document_id}
        assert documents - {None}
        assert all(relative.operator for relative in relatives), "an ancestor that is not in the case"
        found = {e.document_id for e in case.evidence(run_id, row.id)}
        assert found <= documents | {None}


def check_case_agrees_with_memory(case, run_id, memory, rows) -> None:
    results = case.results(run_id)
    assert list(results.row_ids) == [row.id for row in rows]
    stored = {r.id: r for o in case.ledger(run_id).operators for r in case.rows(run_id, o.operator)}
    assert set(stored) == set(memory)
    for id, row in memory.items():
        record = stored[id]
        assert record.values == row.values
        assert record.parents == row.parents
        assert record.document_id == row.document_id
        assert (record.first_line, record.last_line) == ((row.span.first, row.span.last) if row.span else (None, None))


@pytest.mark.parametrize("kind", ["map", "filter", "unnest", "split", "gather", "resolve", "reduce"])
def test_every_operator_is_drawn_also_behind_others(kind) -> None:
    many = settings(max_examples=5000, database=None)
    operations = find(pipelines(), lambda drawn: f"type: {kind}," in drawn and drawn.count("name:") >= 3, settings=many)
    assert f"type: {kind}," in operations

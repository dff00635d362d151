"""Retrievers: which passages an operator is shown, where they stand, and what happens when they cannot be found."""

from __future__ import annotations

import pytest
from scripted_run import prompt_of, write_jsonl, write_texts

import models.nearest
from engine.errors import PipelineError
from engine.executor.events import Warned
from engine.executor.retrieval import cut
from engine.language.checks import check
from engine.language.writer import to_yaml
from engine.loader import parse_pipeline
from engine.text.ranking import PIECE_CHARACTERS

DRUGS = [
    {"name": "Aspirin", "uses": "pain, fever"},
    {"name": "Ibuprofen", "uses": "pain, swelling"},
    {"name": "Insulin", "uses": "diabetes"},
]
FTS = "fts: {index_phrase: '{{ input.name }}: {{ input.uses }}', query_phrase: '{{ input.symptoms }}'}"
EMBEDDING = "embedding: {query_phrase: '{{ input.symptoms }}', index_phrase: '{{ input.name }}: {{ input.uses }}'}"
ANSWER = """
operations:
  - name: answer
    type: map
    retriever: drugs_index
    prompt: "SICK: {{ input.symptoms }}\\nKNOWN: {{ retrieval_context }}"
    output: {schema: {drug: string}}
"""
STEPS = "pipeline: {steps: [{name: s, input: patients, operations: [answer]}]}\n"


def loaded(folder, retriever: str, *, operations: str = ANSWER, steps: str = STEPS, datasets: str = ""):
    sources = datasets or "{patients: {type: file, path: p.jsonl}, drugs: {type: file, path: d.jsonl}}"
    text = f"datasets: {sources}\nretrievers: {{drugs_index: {{{retriever}}}}}\n{operations}{steps}"
    return parse_pipeline(text, file="test.yaml", directory=folder)


@pytest.fixture
def data(tmp_path):
    write_jsonl(tmp_path / "p.jsonl", [{"symptoms": "fever since Monday"}, {"symptoms": "diabetes"}])
    write_jsonl(tmp_path / "d.jsonl", DRUGS)
    return tmp_path


def shown(desk) -> list[str]:
    return [prompt_of(request).split("KNOWN:")[1].split("\n\n")[0] for request in desk.calls]


@pytest.mark.parametrize("query", ["query: {top_k: 1}", "query: {mode: fts, top_k: 1}"])
def test_full_text_finds_what_holds_the_words(bench, data, query) -> None:
    desk = bench(lambda request: {"drug": "x"})
    desk.run_again(loaded(data, f"dataset: drugs, {FTS}, {query}"))
    first, second = shown(desk)
    assert "Aspirin: pain, fever" in first and "Insulin" not in first
    assert "Insulin: diabetes" in second and "Aspirin" not in second


def test_by_meaning_the_most_alike_comes_first(bench, data) -> None:
    desk = bench(lambda request: {"drug": "x"})
    desk.run_again(loaded(data, f"dataset: drugs, {EMBEDDING}, query: {{top_k: 2}}"))
    context = shown(desk)[1]
    assert context.index("Insulin: diabetes") > 0
    assert context.count(": ") >= 2
    # The index is embedded once, for all rows.
    assert desk.embedder.texts.count("Insulin: diabetes") == 1


def test_hybrid_prefers_what_both_find(bench, data) -> None:
    desk = bench(lambda request: {"drug": "x"})
    desk.run_again(loaded(data, f"dataset: drugs, {FTS}, {EMBEDDING}, query: {{top_k: 1}}"))
    assert "Insulin" in shown(desk)[1]


def test_an_index_over_an_earlier_step(bench, data) -> None:
    operations = ANSWER + "  - {name: keep, type: filter, condition: \"input.name != 'Aspirin'\"}\n"
    steps = (
        "pipeline: {steps: [{name: few, input: drugs, operations: [keep]}, "
        "{name: s, input: patients, operations: [answer]}]}\n"
    )
    desk = bench(lambda request: {"drug": "x"})
    desk.run_again(loaded(data, f"dataset: few, {FTS}", operations=operations, steps=steps))
    assert "Aspirin" not in shown(desk)[0]
    assert "Insulin" in shown(desk)[1]


def test_a_step_that_has_not_run_yet_is_refused_at_the_operator(data) -> None:
    with pytest.raises(PipelineError, match="has not run before step 's'") as caught:
        loaded(data, f"dataset: s, {FTS}")
    assert caught.value.line == 5, "where the operator begins"


def test_a_row_that_cannot_be_indexed_is_told_of_and_a_question_that_cannot_be_put_fails(bench, data) -> None:
    write_jsonl(data / "d.jsonl", [*DRUGS, {"name": "no uses"}])
    write_jsonl(data / "p.jsonl", [{"symptoms": "fever"}, {"other": "x", "symptoms": None}, {"other": "y"}])
    desk = bench(lambda request: {"drug": "x"})
    result = desk.run_again(loaded(data, f"dataset: drugs, {FTS}"))
    (warning,) = [event.message for event in desk.of(Warned)]
    assert "1 of 4 rows are not in its index" in warning
    assert "uses" in warning
    assert result.failed_items == 1


def test_running_again_asks_nothing_and_indexes_nothing_again(bench, data) -> None:
    desk = bench(lambda request: {"drug": "x"})
    plan = loaded(data, f"dataset: drugs, {FTS}, {EMBEDDING}")
    desk.run_again(plan)
    embedded = len(desk.embedder.texts)
    desk.run_again(plan)
    assert (desk.calls, len(desk.embedder.texts)) == ([], embedded)


def test_a_value_from_a_retrieved_passage_is_cited_there(bench, tmp_path) -> None:
    filler = "\n".join(f"Paragraph {n} speaks of other things." for n in range(60))
    write_texts(tmp_path / "kb", {"rules.txt": f"{filler}\nThe retention period is eleven years.\n{filler}"})
    write_jsonl(tmp_path / "p.jsonl", [{"symptoms": "retention period"}])
    sources = "{patients: {type: file, path: p.jsonl}, drugs: {type: folder, path: kb}}"
    phrases = "fts: {index_phrase: '{{ input.text }}', query_phrase: '{{ input.symptoms }}'}"
    desk = bench(lambda request: {"drug": "eleven years"})
    plan = loaded(tmp_path, f"dataset: drugs, {phrases}, query: {{top_k: 1}}", datasets=sources)
    result = desk.run_again(plan)
    (context,) = shown(desk)
    assert "The retention period is eleven years." in context
    assert len(context) <= PIECE_CHARACTERS + 200
    row = desk.case.runs.results(result.run_id).row_ids[0]
    (record,) = [e for e in desk.case.evidence.of_row(result.run_id, row) if e.column == "drug"]
    assert (record.first_line, record.last_line) == (61, 61)


def test_a_passage_of_a_field_with_more_lines_than_the_document_has_none_of_its_own(bench, data) -> None:
    write_texts(data / "kb", {"rules.txt": "Aspirin"})
    sources = "{patients: {type: file, path: p.jsonl}, drugs: {type: folder, path: kb}}"
    long = "  - {name: long, type: compute, fields: {note: \"'\\\\n\\\\n\\\\nfever'\"}}\n"
    steps = (
        "pipeline: {steps: [{name: few, input: drugs, operations: [long]}, "
        "{name: s, input: patients, operations: [answer]}]}\n"
    )
    phrases = "fts: {index_phrase: '{{ input.note }}', query_phrase: '{{ input.symptoms }}'}"
    desk = bench(lambda request: {"drug": "x"})
    plan = loaded(data, f"dataset: few, {phrases}", operations=ANSWER + long, steps=steps, datasets=sources)
    result = desk.run_again(plan)
    assert (result.rows, result.failed_items) == (2, 0)
    assert "fever" in shown(desk)[0]


def test_fields_of_phrases_are_checked(data) -> None:
    phrases = "fts: {index_phrase: '{{ input.nmae }}', query_phrase: '{{ input.symptom }}'}"
    fields = {"patients": ["symptoms"], "drugs": ["name", "uses"]}
    plan = loaded(data, f"dataset: drugs, {phrases}")
    said = [str(p) for p in check(plan.plan, source_fields=fields, positions=plan.positions)]
    assert "test.yaml:2:" in said[0] and "query_phrase reads the field 'symptom'" in said[0]
    assert "index_phrase reads the field 'nmae'" in said[1]


@pytest.mark.parametrize(
    ("retriever", "said"),
    [
        (f"dataset: durgs, {FTS}", "test.yaml:2:37: retriever 'drugs_index' indexes 'durgs'"),
        ("dataset: drugs", "has no index"),
        (f"{FTS}", "needs one thing to index"),
        (f"dataset: drugs, step: drugs, {FTS}", "needs one thing to index"),
        (f"dataset: drugs, {FTS}, query: {{mode: hybrid}}", "asks by embedding, but has no such index"),
        (f"dataset: drugs, {FTS}, query: {{top_k: 0}}", "top_k must be 1 to 100"),
        (f"dataset: drugs, {FTS}, index_types: [embedding]", "has no section embedding"),
        ("dataset: drugs, embedding: {query_phrase: '{{ input.a }}'}", "does not say what to embed"),
        (f"dataset: drugs, {FTS}, colour: red", "unknown key 'colour'"),
        ("dataset: drugs, fts: {index_phrase: '{{ left.a }}', query_phrase: x}", "uses 'left'"),
    ],
)
def test_a_wrong_retriever_is_refused_at_its_place(data, retriever, said) -> None:
    with pytest.raises(PipelineError) as caught:
        loaded(data, retriever)
    assert said in str(caught.value)


def test_an_operator_that_asks_no_retriever_there_is(data) -> None:
    with pytest.raises(PipelineError, match="no retriever 'drugs_idnex'") as caught:
        loaded(data, f"dataset: drugs, {FTS}", operations=ANSWER.replace("drugs_index", "drugs_idnex"))
    assert "Did you mean 'drugs_index'" in caught.value.advice


def test_docetl_keys_are_taken_with_one_warning_and_the_plan_is_written_back(data) -> None:
    docetl = (
        f"type: lancedb, dataset: drugs, index_dir: ./x, build_index: always, index_types: [fts, embedding], {FTS}, "
        "embedding: {model: openai/small, query_phrase: '{{ input.symptoms }}'}, query: {mode: hybrid}"
    )
    plan = loaded(data, docetl)
    (warning,) = plan.warnings
    assert warning.message == (
        "these keys have no effect on this machine: index_dir (retriever drugs_index), "
        "build_index (retriever drugs_index), embedding.model (retriever drugs_index)"
    )
    again = parse_pipeline(to_yaml(plan.plan), directory=data)
    assert again.plan == plan.plan


def test_passages_are_parts_of_the_text_within_the_limit() -> None:
    text = "\n".join(f"Line {n} has some words." for n in range(200)) + "x" * 3000
    pieces = cut(text)
    assert all(piece in text and len(piece) <= PIECE_CHARACTERS for piece in pieces)
    assert "".join("".join(pieces).split()) == "".join(text.split())
    assert pieces[0].endswith("words.")
    assert cut(" \n ") == []
    assert cut("short") == ["short"]


def test_rows_ask_the_index_of_the_step_they_come_from(bench, data) -> None:
    # The second step alone reads the first; the first must still be finished by itself, for all its rows are indexed.
    write_jsonl(data / "p.jsonl", [{"symptoms": "fever on Monday"}, {"symptoms": "fever on Friday"}])
    phrases = "fts: {index_phrase: '{{ input.symptoms }}', query_phrase: '{{ input.symptoms }}'}"
    operations = ANSWER + '  - {name: keep, type: filter, condition: "true"}\n'
    steps = (
        "pipeline: {steps: [{name: all, input: patients, operations: [keep]}, "
        "{name: s, input: all, operations: [answer]}]}\n"
    )
    desk = bench(lambda request: {"drug": "x"})
    desk.run_again(loaded(data, f"dataset: all, {phrases}", operations=operations, steps=steps))
    assert all("Monday" in context and "Friday" in context for context in shown(desk))
    assert len(desk.calls) == 2


@pytest.mark.parametrize("exact", [False, True])
def test_an_index_over_very_many_passages_says_that_it_may_miss_some(bench, data, monkeypatch, exact) -> None:
    monkeypatch.setattr(models.nearest, "EXACT_UP_TO", 100)
    monkeypatch.setattr(models.nearest, "is_worthwhile", lambda queries, vectors: True)
    monkeypatch.setattr(models.nearest, "TARGET_RECALL", 0.1)
    write_jsonl(data / "d.jsonl", [*DRUGS, *({"name": f"drug {n}", "uses": f"ill {n}"} for n in range(300))])
    desk = bench(lambda request: {"drug": "x"})
    result = desk.run_again(
        loaded(data, f"dataset: drugs, {EMBEDDING}, query: {{top_k: 2, exact: {str(exact).lower()}}}")
    )
    assert "Insulin: diabetes" in shown(desk)[1]
    warned = [event.message for event in desk.events if isinstance(event, Warned)]
    assert len(warned) == (0 if exact else 1), result
    assert exact or "an index over 303 passages finds about" in warned[0]

"""The article's four worked examples on real PDFs: complete, partial, none, conflicting; exact on a scripted model."""

from __future__ import annotations

import asyncio

import pytest
from scripted_model import ScriptedBackend
from scripted_run import pipeline, prompt_of
from worked_answers import (
    COMPLETE,
    CONFLICT,
    FUNCTIONS,
    FURTHER,
    NONE,
    PARTIAL,
    QUESTIONS,
    fitting,
    item,
    rich,
    shown_numbers,
    worked_pdf,
)

ANSWER = """
  - name: ask
    type: answer
    contract: rich
    retrieval: fts
    second_look: false
    keep_signals: true
    max_tokens: 600
    passage_tokens: {tokens}
    rounds: {rounds}
    questions: [{question}]
"""
STEPS = "[{name: s, input: records, operations: [ask]}]"
SIGNALS_1 = "answer answer round 1 signals"


@pytest.fixture
def run(tmp_path, bench):
    def run(lines, question, answer, *, count, tokens=6000, rounds=2):
        (tmp_path / "in").mkdir()
        worked_pdf(tmp_path / "in" / "a.pdf", lines, count=count)
        desk = bench(lambda request: fitting(request, answer(request)))
        operator = ANSWER.format(tokens=tokens, rounds=rounds, question=question)
        result = desk.run_again(pipeline(tmp_path / "in", operator, steps=STEPS))
        assert result.failed_items == 0
        (row,) = desk.values(result)
        return desk, result, row

    return run


def places(bench, result, column):
    """The lines, pages and ways of locating of a column's cells."""
    (row_id,) = bench.case.runs.results(result.run_id).row_ids
    found = bench.case.evidence.of_row(result.run_id, row_id, column)
    return [(e.path, e.page, e.first_line, e.last_line) for e in found]


def moves(bench, result):
    found = [d.record for d in bench.case.ledger.decisions(result.run_id)]
    return [r.verdict for r in sorted(found, key=lambda r: r.detail)]


def asked(name, **more):
    keys = {"name": "answer", "question": f'"{QUESTIONS[name]}"', **more}
    return "{" + ", ".join(f"{key}: {value}" for key, value in keys.items()) + "}"


def test_complete(run):
    """One item per Function with its own line; the dispatcher ships the answer as it is."""
    question = asked("complete", type="text", shape="list", keywords="[function, framework]")
    reply = rich([item(name, 88 + n) for n, name in enumerate(FUNCTIONS)], keywords_found=["function", "framework"])
    bench, result, row = run(COMPLETE, question, lambda _: reply, count=120)
    assert (row["answer"], row["answer_status"], row["answer_note"]) == (list(FUNCTIONS), "found", None)
    assert [(i["lines"], i["page"], i["snippet"], i["method"]) for i in row["answer_items"]] == [
        ([[88 + n, 88 + n]], 3, name, "verbatim") for n, name in enumerate(FUNCTIONS)
    ]
    assert places(bench, result, "answer") == [(f"answer[{n}]", 3, 88 + n, 88 + n) for n in range(5)]
    assert moves(bench, result) == ["ship"]
    assert row["_answer_signals"]["confidence"] == 0.95
    assert [call.purpose.task for call in bench.calls] == ["answer answer round 1", SIGNALS_1]
    words = [prompt_of(call) for call in bench.calls]
    assert ["caveats" in text for text in words] == [False, True]


def test_a_document_that_was_read_whole_is_complete_whatever_the_model_says(run):
    question = asked("complete", type="text", shape="list", keywords="[function, framework]")
    reply = rich([item(name, 88 + n) for n, name in enumerate(FUNCTIONS)], complete_answer_found=False)
    bench, result, row = run(COMPLETE, question, lambda _: reply, count=120)
    assert (row["answer"], row["answer_status"]) == (list(FUNCTIONS), "found")
    assert moves(bench, result) == ["ship"]


@pytest.mark.parametrize(("is_complete", "status"), [(False, "partial"), (True, "found")])
def test_where_fewer_items_stand_there_than_are_announced_the_models_word_counts(run, is_complete, status):
    lines = {87: COMPLETE[87], **{88 + n: f"({'abc'[n]}) {name};" for n, name in enumerate(FUNCTIONS[:3])}}
    question = asked("complete", type="text", shape="list", keywords="[function, framework]")
    reply = rich([item(name, 88 + n) for n, name in enumerate(FUNCTIONS[:3])], complete_answer_found=is_complete)
    _, _, row = run(lines, question, lambda _: reply, count=120)
    assert (row["answer"], row["answer_status"]) == (list(FUNCTIONS[:3]), status)


def test_partial(run):
    """Line 236 points to a Section 7 that this document does not have: one item, and not all of it."""
    question = asked("partial", type="text", shape="list", keywords="[exclusions, disasters]")
    reply = rich(
        [item("damage from earthquake or seismic events", 234)],
        complete_answer_found=False,
        llm_discovered_keywords=["Section 7", "additional exclusions"],
        caveats=["Only 1 exclusion found in retrieved passage; line 236 points to Section 7 (not retrieved)."],
        confidence=0.7,
        context_completeness_weak=0.5,
    )
    empty = rich([], caveats=["Nothing here."])

    def answer(request):
        return reply if 234 in shown_numbers(prompt_of(request)) else empty

    bench, result, row = run(PARTIAL, question, answer, count=240, tokens=400)
    assert row["answer"] == ["damage from earthquake or seismic events"]
    assert row["answer_status"] == "partial"
    assert "Section 7" in row["answer_note"]
    assert moves(bench, result) == ["widen", "ship"]
    assert [i["lines"] for i in row["answer_items"]] == [[[234, 234]]]


def test_partial_is_completed_by_the_words_that_were_come_upon(run):
    """The second round goes to Section 7, which shares no word with the question."""
    question = asked("partial", type="text", shape="list", keywords="[natural, disasters]")
    first = rich(
        [item("damage from earthquake or seismic events", 234)],
        complete_answer_found=False,
        llm_discovered_keywords=["Section 7"],
    )
    second = rich([item("damage from flood or rising water", 21), item("damage from volcanic eruption", 22)])

    def answer(request):
        shown = shown_numbers(prompt_of(request))
        assert not {21, 234} <= set(shown)
        return first if 234 in shown else second

    bench, result, row = run(FURTHER, question, answer, count=240, tokens=400)
    assert row["answer"] == [
        "damage from flood or rising water",
        "damage from volcanic eruption",
        "damage from earthquake or seismic events",
    ]
    assert row["answer_status"] == "found"
    assert moves(bench, result) == ["widen", "ship"]
    assert places(bench, result, "answer") == [
        ("answer[0]", 1, 21, 21),
        ("answer[1]", 1, 22, 22),
        ("answer[2]", 6, 234, 234),
    ]


LONG_SECTION = {
    **{
        number: f"Item {number} of the list of keys that the caretaker holds for the offices."
        for number in range(1, 12)
    },
    231: "6. Exclusions for natural disasters",
    232: "The Company does not pay for:",
    233: "(c) damage from earthquake or seismic events;",
    234: "(continued in Section 7)",
    **{
        number: f"Form {number} of the office is kept in the archive on the ground floor." for number in range(235, 275)
    },
    20: "7. Additional exclusions",
    21: "(d) damage from flood or rising water;",
    22: "(e) damage from volcanic eruption.",
    23: "8. Keys",
}
"""The continuation is headed by its number alone, far before the pointer; behind the pointer stand other lines."""


def reads_on(run, lines, *, count=280, contract_words=None, tokens=300):
    """Ask for the excluded disasters, answered from the lines shown; return what was read and the row."""
    question = asked("partial", type="text", shape="list", keywords="[natural, disasters]")
    rounds = []

    def answer(request):
        shown = shown_numbers(prompt_of(request))
        if "signals" not in request.purpose.task:
            rounds.append(shown)
        items = [(n, text[4:-1]) for n, text in lines.items() if text.startswith("(") and text[2] == ")" and n in shown]
        return rich([item(value, number) for number, value in items], **(contract_words or {}))

    bench, result, row = run(lines, question, answer, count=count, tokens=tokens)
    return bench, result, row, rounds


def test_a_section_that_is_pointed_to_is_read_next_and_before_what_follows(run):
    """ "continued in Section 7": the second round reads Section 7, headed "7.", and nothing is said to be missing."""
    bench, result, row, rounds = reads_on(run, LONG_SECTION)
    assert 20 not in rounds[0]
    assert {20, 21, 22} <= set(rounds[1])
    assert row["answer"] == [
        "damage from flood or rising water",
        "damage from volcanic eruption",
        "damage from earthquake or seismic events",
    ]
    assert (row["answer_status"], moves(bench, result)) == ("found", ["widen", "ship"])


def test_words_that_name_a_heading_go_to_its_section(run):
    """llm_discovered_keywords that name a heading: the section is read, whose lines share no word with the question."""
    lines = {number: text for number, text in LONG_SECTION.items() if number != 234}
    words = {"llm_discovered_keywords": ["Additional exclusions"], "complete_answer_found": False}
    _, _, row, rounds = reads_on(run, lines, contract_words=words)
    assert 20 not in rounds[0]
    assert {20, 21, 22} <= set(rounds[1])
    assert len(row["answer"]) == 3


def test_a_page_that_is_pointed_to_is_read_next(run):
    lines = {**LONG_SECTION, 234: "(continued on page 3)", 20: "", 21: "", 22: "", 23: ""}
    lines |= {90: "(d) damage from flood or rising water;", 91: "(e) damage from volcanic eruption."}
    _, _, row, rounds = reads_on(run, lines)
    assert 90 not in rounds[0]
    assert {90, 91} <= set(rounds[1])
    assert len(row["answer"]) == 3


def test_where_nothing_is_found_the_section_that_the_lines_refer_to_is_read_next(run):
    """The minimal contract too: the lines nearest to the question say where the period is set out."""
    lines = {
        **{n: text for n, text in LONG_SECTION.items() if n >= 235},
        200: "6. Cancellation",
        201: "The cancellation period is set out in Section 7.",
        20: "7. Time limits",
        21: "Thirty days from receipt of the letter.",
        22: "8. Keys",
    }
    question = asked("none", type="text", shape="single", keywords="[cancellation, period]")
    rounds = []

    def answer(request):
        shown = shown_numbers(prompt_of(request))
        if "closer" not in request.purpose.task and "signals" not in request.purpose.task:
            rounds.append(shown)
        return rich([item("Thirty days", 21)] if 21 in shown else [])

    _, _, row = run(lines, question, answer, count=280, tokens=300)
    assert 21 not in rounds[0]
    assert {20, 21} <= set(rounds[1])
    assert (row["answer"], row["answer_status"]) == ("Thirty days", "found")


def test_the_rich_contract_asks_for_the_items_as_the_minimal_one_does(run, bench, tmp_path):
    question = asked("complete", type="text", shape="list", keywords="[function]")
    reply = rich([item(FUNCTIONS[0], 88)])
    requests = []

    def answer(request):
        requests.append(request)
        return reply

    run(COMPLETE, question, answer, count=120)
    operator = ANSWER.format(tokens=6000, rounds=2, question=question).replace("contract: rich", "contract: minimal")
    desk = bench(lambda request: fitting(request, answer(request)), folder="other")
    desk.run_again(pipeline(tmp_path / "in", operator, steps=STEPS))
    assert len(requests) == 3
    assert requests[0].segments == requests[2].segments
    assert requests[0].schema == requests[2].schema


def test_without_room_for_them_the_signals_are_left_out(run, bench, tmp_path):
    """The model has room for the question about the 40 lines and its reply, and for no further turn."""
    question = asked("none", type="text", shape="single", keywords="[cancellation, period]")
    large, _, _ = run(NONE, question, lambda _: rich([]), count=40)
    operator = ANSWER.format(tokens=6000, rounds=1, question=question)
    prompt = sum(large.backend.count_tokens(segment.text) for segment in large.calls[0].segments)
    backend = ScriptedBackend(lambda request: fitting(request, rich([])), context_tokens=prompt + 700)
    small = bench(backend=backend, folder="other")
    result = asyncio.run(small.run(pipeline(tmp_path / "in", operator, steps=STEPS)))
    (row,) = small.values(result)
    assert (row["answer_status"], row["_answer_signals"]["complete_answer_found"]) == ("none", False)
    assert "caveats" not in row["_answer_signals"]
    assert sorted(moves(small, result)) == ["no_signals", "not_found"]


def test_a_check_without_room_does_not_take_that_of_the_signals(run, bench, tmp_path):
    """What the check complains of is longer than the question for the signals, which has room behind the reply."""
    question = asked("none", type="text", shape="single", keywords="[cancellation, period]")
    reply = rich([item(" ".join([word] * 120), 5) for word in ("zebra", "quagga", "okapi")])
    large, _, _ = run(NONE, question, lambda _: reply, count=40)
    first, check, signals = large.calls
    assert [call.purpose.task for call in (check, signals)] == ["answer answer round 1 check 1", SIGNALS_1]
    told = [*first.segments, *signals.segments[-2:]]  # the reply and the question for the signals
    room = sum(large.backend.count_tokens(segment.text) for segment in told) + 700
    backend = ScriptedBackend(lambda request: fitting(request, reply), context_tokens=room)
    small = bench(backend=backend, folder="other")
    operator = ANSWER.format(tokens=6000, rounds=1, question=question)
    result = asyncio.run(small.run(pipeline(tmp_path / "in", operator, steps=STEPS)))
    (row,) = small.values(result)
    assert [call.purpose.task for call in small.calls] == ["answer answer round 1", SIGNALS_1]
    assert (row["answer_status"], row["_answer_signals"]["caveats"]) == ("none", [])
    assert moves(small, result) == ["not_found"]


def test_none(run):
    """The passage is about the premium: no item, and the caveat says what is there instead."""
    question = asked("none", type="text", shape="single", keywords="[cancellation, period]")
    caveat = "Retrieved passage covers premium, deductible and fees, not the cancellation period."
    reply = rich([], caveats=[caveat], confidence=0, context_completeness_weak=0.2)
    bench, result, row = run(NONE, question, lambda _: reply, count=40)
    assert (row["answer"], row["answer_status"], row["answer_note"]) == (None, "none", caveat)
    assert row["answer_items"] == []
    assert moves(bench, result) == ["not_found"]
    assert places(bench, result, "answer") == []


def test_conflict(run):
    """Both dates with their lines, none chosen: the user is shown both and asked."""
    question = asked("conflict", type="date", shape="single", keywords="[effective, date]")
    reply = rich(
        [item("15 March 2024", 56), item("1 April 2024", 178)],
        conflicting_evidence=True,
        confidence=0.5,
        caveats=["Two effective dates found: 15 March 2024 (original) and 1 April 2024 (amendment)."],
        suggested_clarification="Original date (2024-03-15) or amended (2024-04-01)?",
    )
    bench, result, row = run(CONFLICT, question, lambda _: reply, count=200)
    assert (row["answer"], row["answer_status"]) == (None, "conflict")
    assert [(i["value"]["iso"], i["lines"], i["page"]) for i in row["answer_items"]] == [
        ("2024-03-15", [[56, 56]], 2),
        ("2024-04-01", [[178, 178]], 5),
    ]
    assert "Original date (2024-03-15) or amended (2024-04-01)?" in row["answer_note"]
    assert "'15 March 2024' (line 56) or '1 April 2024' (line 178)" in row["answer_note"]
    assert moves(bench, result) == ["conflict"]
    dates = [place for place in places(bench, result, "answer_items") if ".value" in place[0]]
    assert dates == [("answer_items[0].value.original", 2, 56, 56), ("answer_items[1].value.original", 5, 178, 178)]


def test_several_spans_of_one_value_are_all_kept_as_evidence(run):
    """Article, 2.2: the sum on page 1 and its exception on page 3 are evidence of one value."""
    lines = {10: "The deductible is USD 250 for each claim.", 95: "No deductible is taken for claims by letter."}
    question = "{name: answer, question: How much is the deductible?, type: amount, shape: single, keywords: [claim]}"
    spans = [{"line_start": 10, "line_end": 10}, {"line_start": 95, "line_end": 95}]
    bench, result, row = run(lines, question, lambda _: rich([{"spans": spans, "value": "USD 250"}]), count=120)
    assert (row["answer"]["value"], row["answer_status"]) == (250, "found")
    (only,) = row["answer_items"]
    assert (only["lines"], only["page"], only["snippet"]) == ([[10, 10], [95, 95]], 1, "\n".join(lines.values()))
    found = [place for place in places(bench, result, "answer") if place[0] == "answer.original"]
    assert found == [("answer.original", 1, 10, 10), ("answer.original", 3, 95, 95)]


def test_one_document_that_is_asked_two_questions_gets_both_in_one_row(run):
    questions = ", ".join(
        [
            '{name: effective, question: "When is it effective?", type: date, shape: single, keywords: [effective]}',
            '{name: fee, question: "What is the fee?", type: amount, shape: single, keywords: [fee]}',
        ]
    )

    def answer(request):
        if "round 1" in request.purpose.task and "effective" in request.purpose.task:
            return rich([item("15 March 2024", 56)])
        return rich([])

    _, _, row = run({56: CONFLICT[56]}, questions, answer, count=80)
    assert row["effective"] == {"iso": "2024-03-15", "original": "15 March 2024", "problem": None}
    assert (row["effective_status"], row["fee"], row["fee_status"]) == ("found", None, "none")

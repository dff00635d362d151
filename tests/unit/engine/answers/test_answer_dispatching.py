"""The next move is decided by code from the signals (article, sections 2.3 and 2.4)."""

from __future__ import annotations

import pytest

from engine.answers.contract import Answer, Item
from engine.answers.dispatching import Situation, dispatch, rivals, status_of
from engine.answers.shaping import cell_of, merge
from engine.rows import Span


def items(*values, line=1):
    return tuple(Item(v, (Span(line + n, line + n),), f"{v}", "verbatim", f"{v}") for n, v in enumerate(values))


def situation(*values, shape="single", **more):
    signals = more.pop("signals", {})
    return Situation(Answer(items(*values), signals=signals), shape, **more)


INCOMPLETE = {"complete_answer_found": False}


@pytest.mark.parametrize(
    ("seen", "move", "status"),
    [
        (situation("a"), "ship", "found"),
        (situation("a", can_widen=True), "ship", "found"),
        (situation(can_widen=True), "widen", "none"),
        (situation(), "not_found", "none"),
        (situation(clarification="Which lease?"), "clarify", "clarify"),
        (situation(signals={"suggested_clarification": "Which lease?"}), "clarify", "clarify"),
        (situation("a", clarification="Which lease?"), "ship", "found"),
        (situation("a", signals=INCOMPLETE, can_widen=True), "widen", "partial"),
        (situation("a", signals=INCOMPLETE), "ship", "partial"),
        (situation("a", "b", shape="list", strong=False, can_widen=True), "widen", "partial"),
        (situation("a", "b", shape="list", strong=True), "ship", "found"),
        (situation("a", "b", shape="list", strong=True, signals=INCOMPLETE), "ship", "found"),
        (situation("a", "b", shape="list", strong=True, signals=INCOMPLETE, can_widen=True), "widen", "found"),
        (situation("a", "b"), "conflict", "conflict"),
        (situation("a", "b", signals={"conflicting_evidence": False}), "conflict", "conflict"),
        (situation("a", signals={"conflicting_evidence": True}), "ship", "found"),
        (situation("Acme Corp.", "ACME Corp"), "ship", "found"),
        (situation("Acme", "Acme Corporation"), "ship", "found"),
        (situation("a", "b", shape="list"), "ship", "found"),
        (situation("a", signals={"context_structured": False}, can_reread=True), "reread", "found"),
        (situation("a", signals={"context_structured": False}), "ship", "found"),
    ],
)
def test_move_and_status(seen, move, status):
    assert (dispatch(seen), status_of(seen)) == (move, status)


def test_days_that_are_written_differently_do_not_contradict_each_other():
    same = [{"iso": "2024-03-15", "original": o, "problem": None} for o in ("15 March 2024", "3/15/2024")]
    assert rivals(Answer(items(*same)), "single") == ()
    other = {"iso": "2024-04-01", "original": "1 April 2024", "problem": None}
    assert len(rivals(Answer(items(*same, other)), "single")) == 2


def test_words_that_are_no_day_contradict_none():
    day = {"iso": "2024-03-15", "original": "15 March 2024", "problem": None}
    words = {"iso": None, "original": "the date hereof", "problem": "no date is written in it"}
    answer = Answer(items(words, day))
    assert rivals(answer, "single") == ()
    assert cell_of("since", "single", answer).value == day
    assert cell_of("since", "single", Answer(items(words))).value == words


def test_a_further_round_adds_what_is_new():
    before = Answer(items("a", "b", line=20), signals=INCOMPLETE)
    after = Answer(items("B", "c", line=5), signals={"complete_answer_found": True})
    both = merge(before, after, "list")
    assert [(i.value, [s.first for s in i.spans]) for i in both.items] == [("b", [5, 21]), ("c", [6]), ("a", [20])]
    assert not both.says_incomplete
    assert merge(before, Answer(signals={"complete_answer_found": True}), "list").says_incomplete


@pytest.mark.parametrize(
    "different",
    [("C", "C++", "C#"), ("AA", "AA+", "AA-"), ("5 °C", "-5 °C"), ("$50", "€50", "50 %"), ("<5", ">5"), ("+", "-")],
)
def test_values_that_differ_in_a_sign_alone_are_different_values(different):
    both = merge(Answer(items(*different)), Answer(), "list")
    assert [item.value for item in both.items] == list(different)


def test_names_that_differ_in_a_vowel_sign_are_different_values():
    sita, site = "\u0938\u0940\u0924\u093e", "\u0938\u0940\u0924\u0947"
    both = merge(Answer(items(sita, site)), Answer(), "list")
    assert [item.value for item in both.items] == [sita, site]


@pytest.mark.parametrize(
    ("one", "other"),
    [("Jos\u00e9 D\u00edaz", "Jose\u0301 Di\u0301az"), ("Acme Corp.", "ACME\tCorp"), ("well-known", "well known")],
)
def test_the_same_words_are_one_value_however_they_are_written(one, other):
    assert [item.value for item in merge(Answer(items(one)), Answer(items(other, line=5)), "list").items] == [one]


@pytest.mark.parametrize(("shape", "kept"), [("list", [[3, 7]]), ("table", [[3], [7]]), ("tree", [[3], [7]])])
def test_equal_rows_of_other_lines_are_other_rows(shape, kept):
    paid = {"day": "1 May", "amount": 300}
    once = Item(paid, (Span(3, 3),), "1 May 300", "verbatim")
    again = Item(paid, (Span(7, 7),), "1 May 300", "verbatim")
    both = merge(Answer((once, again)), Answer((once,)), shape)
    assert [[s.first for s in item.spans] for item in both.items] == kept


def test_a_table_is_built_from_its_rows():
    rows = (
        Item({"party": "A", "share": 60}, (Span(3, 3),), "A 60", "verbatim"),
        Item({"party": "B", "share": None}, (Span(4, 4),), "B", "verbatim"),
    )
    cell = cell_of("parts", "table", Answer(rows))
    assert cell.value == {"headers": ["party", "share"], "rows": [["A", 60], ["B", None]]}
    assert cell.cited["parts.rows[1][0]"] == (Span(4, 4),)
    free = Answer((Item(["A", "60"], (Span(3, 3),), "A 60", "verbatim"),), headers=("who", "how much", "when"))
    assert cell_of("parts", "table", free).value["rows"] == [["A", "60", None]]


def test_a_tree_is_nested_by_levels():
    levels = [("1", 1), ("1.1", 2), ("1.1.1", 3), ("1.2", 2), ("2", 1), ("2.0.1", 3)]
    found = tuple(Item(v, (Span(n, n),), v, "verbatim", level=level) for n, (v, level) in enumerate(levels, 1))
    cell = cell_of("toc", "tree", Answer(found))
    assert [entry["value"] for entry in cell.value] == ["1", "2"]
    assert [entry["value"] for entry in cell.value[0]["children"]] == ["1.1", "1.2"]
    assert cell.value[0]["children"][0]["children"] == [{"value": "1.1.1", "children": []}]
    assert cell.cited["toc[1].children[0].value"] == (Span(6, 6),)

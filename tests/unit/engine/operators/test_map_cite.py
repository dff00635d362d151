"""map with `cite`: every value comes with lines that hold it, checked as those of `answer` are."""

from __future__ import annotations

import pytest
from scripted_tools import ScriptedTools, prompt_of, replaced, rows_of, run, schema, template, values_of

from engine.errors import PipelineError
from engine.language.expressions import Expression
from engine.operators.map import Map
from engine.rows import Span

LETTER = "To the Board,\non May 3, 2021 Sgt. Varrick struck a man.\nHe was cleared.\nYours, K. Brandmoor"


def cite(**fields):
    return Map(name="find", prompt=template("{{ input.text }}\n\nWho did what?"), schema=schema(**fields), cite=True)


def said(value, *lines):
    return {"spans": [{"line_start": n, "line_end": n} for n in lines], "value": value}


async def test_values_are_plain_and_cite_their_lines():
    node = cite(officer="string", on="date()", force="boolean", words="list[string]")
    reply = {
        "officer": said("Sgt. Varrick", 12),
        "on": said("May 3, 2021", 12),
        "force": said(True, 12),
        "words": [said("He was cleared", 13), said("struck a man", 11)],
    }
    tools = ScriptedTools(lambda _: reply)
    row = replaced(rows_of({"text": LETTER}, document="d1")[0], span=Span(11, 14))
    outcome = await run(node, [row], tools)
    assert "\n12: on May 3, 2021 Sgt. Varrick struck a man.\n" in prompt_of(tools.requests[0])
    (made,) = outcome.rows
    assert made.values["officer"] == "Sgt. Varrick"
    assert made.values["on"]["iso"] == "2021-05-03"
    assert made.values["force"] is True
    assert made.values["words"] == ["He was cleared", "struck a man"]
    assert made.cited["officer"] == made.cited["force"] == made.cited["on.original"] == (Span(12, 12),)
    assert (made.cited["words[0]"], made.cited["words[1]"]) == ((Span(13, 13),), (Span(12, 12),))
    assert len(tools.requests) == 1


async def test_of_a_chunk_among_its_neighbours_the_lines_are_numbered_as_gather_shows_it():
    rendered = f"[Chunk 1] Dear all,\n\n--- Begin Main Chunk ---\n{LETTER}\n--- End Main Chunk ---"
    prompt = template("{{ input.text_chunk_rendered }}\n\nWho did what?")
    node = Map(name="find", prompt=prompt, schema=schema(force="boolean"), cite=True)
    tools = ScriptedTools(lambda _: {"force": said(True, 12)})
    rows = rows_of({"text_chunk": f"{LETTER}\n", "text_chunk_rendered": rendered}, document="d1")
    outcome = await run(node, [replaced(rows[0], span=Span(11, 14))], tools)
    shown = prompt_of(tools.requests[0])
    assert "[Chunk 1] Dear all,\n\n--- Begin Main Chunk ---\n11: To the Board,\n12: on May 3, 2021" in shown
    assert outcome.rows[0].cited == {"force": (Span(12, 12),)}


async def test_what_stands_in_no_line_is_asked_for_again_and_then_null():
    node = cite(officer="string", force="boolean")
    invented = {"officer": said("Sgt. Tullock", 2), "force": said(True, 2)}
    right = {"officer": said("Sgt. Varrick", 2), "force": said(True, 2)}
    tools = ScriptedTools(lambda request: right if len(tools.requests) == 2 else invented)
    outcome = await run(node, rows_of({"text": LETTER}), tools)
    assert values_of(outcome)[0]["officer"] == "Sgt. Varrick"
    assert "officer: 'Sgt. Tullock' does not stand in the lines" in prompt_of(tools.requests[1])

    stubborn = ScriptedTools(lambda request: invented)
    outcome = await run(node, rows_of({"text": LETTER}), stubborn)
    assert values_of(outcome)[0] == {"text": LETTER, "officer": None, "force": True}
    assert [(d.verdict, d.by, d.detail) for d in outcome.decisions] == [
        ("unsupported", "officer", "officer: 'Sgt. Tullock' does not stand in the lines")
    ]
    assert len(stubborn.requests) == 2


@pytest.mark.parametrize("again", [("Mara Tullock", 2), ("To the Board", 1)])
async def test_what_stands_in_the_lines_must_satisfy_validate(again):
    checks = (Expression.parse("output.names and output.names[0] != 'To the Board'"),)
    node = replaced(cite(names="list[string]"), validate=checks)
    tools = ScriptedTools(lambda _: {"names": [said("Ana Diaz", 2) if len(tools.requests) == 1 else said(*again)]})
    outcome = await run(node, rows_of({"text": LETTER}), tools)
    assert [values_of(outcome), len(tools.requests)] == [[], 2 if again[1] == 1 else 3]
    assert "the answer fails validation: output.names and" in outcome.failed[0].error


async def test_an_entry_of_a_list_that_stands_nowhere_is_left_out():
    node = cite(names="list[person]")
    reply = {"names": [said("K. Brandmoor", 4), said("Mara Tullock", 4)]}
    outcome = await run(node, rows_of({"text": LETTER}), ScriptedTools(lambda _: reply))
    assert [one["last"] for one in values_of(outcome)[0]["names"]] == ["Brandmoor"]


async def test_a_list_of_quotes_is_empty_where_there_is_nothing_to_quote():
    node = cite(quotes="list[quote(note)]", officer="string")
    reply = {"quotes": [], "officer": said("Sgt. Varrick", 2)}
    tools = ScriptedTools(lambda _: reply)
    outcome = await run(node, rows_of({"text": LETTER, "note": None}), tools)
    assert values_of(outcome) == [{"text": LETTER, "note": None, "quotes": [], "officer": "Sgt. Varrick"}]


async def test_nothing_is_null_where_the_schema_says_so():
    node = cite(officer="string or Nothing")
    outcome = await run(node, rows_of({"text": LETTER}), ScriptedTools(lambda _: {"officer": said("Nothing")}))
    assert values_of(outcome)[0]["officer"] is None
    assert not outcome.decisions


async def test_a_row_without_text_fails():
    outcome = await run(cite(officer="string"), rows_of({"text": " "}), ScriptedTools(lambda _: {}))
    assert "no text to cite lines of" in outcome.failed[0].error


@pytest.mark.parametrize("more", [{"samples": 2}, {"calibrate": True}, {"too_long": "head"}])
def test_cite_is_refused_with_keys_that_change_the_reply(more):
    with pytest.raises(PipelineError, match="cannot be combined"):
        Map(name="find", prompt=template("{{ input.text }}"), schema=schema(a="string"), cite=True, **more)


async def test_lines_of_a_summary_are_not_those_of_its_document():
    row = {"text": "A lease.\n" * 120, "summary": "A lease.\nThe rent is low."}
    node = Map(
        name="find", prompt=template("{{ input.summary }}\n\nHow is it?"), schema=schema(rent="string"), cite=True
    )
    outcome = await run(
        node, rows_of(row, document="d1"), ScriptedTools(lambda _: {"rent": said("The rent is low", 2)})
    )
    assert [(row.values["rent"], row.cited) for row in outcome.rows] == [("The rent is low", {})]


@pytest.mark.parametrize("written", [{"name": "Sgt. Varrick"}, "Sgt. Varrick", ["Sgt. Varrick"]])
async def test_a_value_of_several_types_is_checked_as_what_it_is(written):
    node = cite(officer="{name: string} | list[string] | string")
    outcome = await run(node, rows_of({"text": LETTER}), ScriptedTools(lambda _: {"officer": said(written, 2)}))
    assert [row["officer"] for row in values_of(outcome)] == [written]
    wrong = {"name": "Mara"} if isinstance(written, dict) else "Mara"
    outcome = await run(node, rows_of({"text": LETTER}), ScriptedTools(lambda _: {"officer": said(wrong, 2)}))
    assert [row["officer"] for row in values_of(outcome)] == [{"name": None} if isinstance(written, dict) else None]


async def test_a_typed_value_beside_another_type_is_checked_by_its_text():
    node = cite(on="integer | date()")
    outcome = await run(node, rows_of({"text": LETTER}), ScriptedTools(lambda _: {"on": said("May 3, 2021", 2)}))
    assert [row["on"]["iso"] for row in values_of(outcome)] == ["2021-05-03"]

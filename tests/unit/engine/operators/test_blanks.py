"""Texts that only fill in for nothing become null where the schema allows it, and nothing else does."""

import pytest
from scripted_tools import ScriptedTools, rows_of, run, schema, template, values_of

from engine.operators.asking.blanks import without_fillers
from engine.operators.asking.question import Question
from engine.operators.map import Map
from models.protocol import Reply

QUESTION = "Is there a clause that limits the liability of a party under the contract? {{ input.text }}"
ECHO = "Is there a clause that limits the liability of a party under the contract?"


async def answer(reply, fields, text="The parties agree.", prompt=QUESTION):
    node = Map(name="find", prompt=template(prompt), schema=schema(**fields))
    (row,) = values_of(await run(node, rows_of({"text": text}), ScriptedTools(lambda request: reply)))
    return {name: row[name] for name in reply}


@pytest.mark.parametrize("filler", ["not specified", "N/A", ECHO])
async def test_a_filler_is_null_where_null_may_stand(filler):
    assert await answer({"cap": filler}, {"cap": "string?"}) == {"cap": None}


@pytest.mark.parametrize("kind", ["string", "enum[N/A, capped]"])
async def test_it_stands_where_null_may_not(kind):
    assert await answer({"cap": "N/A"}, {"cap": kind}) == {"cap": "N/A"}


async def test_what_the_document_says_in_these_words_stands():
    assert await answer({"injuries": "None"}, {"injuries": "string?"}, "Date: May 3\nInjuries: none.\n") == {
        "injuries": "None"
    }
    assert await answer({"injuries": "None"}, {"injuries": "string?"}, "None of them was hurt.") == {"injuries": None}


async def test_a_sentence_of_the_document_that_is_like_the_question_stands():
    text = "Purpose. Is there a clause that limits the liability of a party under the contract? Yes."
    assert await answer({"cap": ECHO}, {"cap": "string?"}, text) == {"cap": ECHO}


async def test_a_word_that_the_question_asks_for_stands():
    prompt = "Who was hurt? Write N/A if nobody was. {{ input.text }}"
    assert await answer({"hurt": "N/A"}, {"hurt": "string?"}, prompt=prompt) == {"hurt": "N/A"}


async def test_an_answer_in_words_of_the_question_stands():
    said = "Yes: a clause limits the liability of a party to the fees paid under the contract."
    assert await answer({"cap": said}, {"cap": "string?"}) == {"cap": said}


async def test_of_a_list_entries_that_say_nothing_are_left_out_and_others_are_whole():
    fields = {"officers": "list[{name: string, act: string?}]"}
    officers = [{"name": "N/A", "act": "not specified"}, {"name": "A. Cole", "act": "not specified"}]
    assert await answer({"officers": officers}, fields) == {"officers": [{"name": "A. Cole", "act": None}]}
    assert await answer({"cars": ["None", "a blue Ford"]}, {"cars": "list[string]"}) == {"cars": ["a blue Ford"]}


async def test_a_list_keeps_the_entries_that_it_must_have():
    assert await answer({"cars": ["None"]}, {"cars": "list[string, 1..3]"}) == {"cars": ["None"]}


async def test_the_probability_of_a_filler_is_not_known():
    said = Reply({"cap": "N/A", "term": "a year"}, "", probabilities={"/cap": 0.6, "/term": 0.7})
    node = Map(
        name="find",
        prompt=template("{{ input.text }}"),
        schema=schema(cap="string?", term="string?"),
        probabilities={"p_cap": "cap", "p_term": "term"},
    )
    (row,) = values_of(await run(node, rows_of({"text": "x"}), Replying(said)))
    assert (row["cap"], row["p_cap"], row["term"], row["p_term"]) == (None, None, "a year", 0.7)


class Replying(ScriptedTools):
    def __init__(self, reply):
        super().__init__()
        self._reply = reply

    async def ask(self, request):
        return self._reply


@pytest.mark.parametrize(
    ("kind", "value"),
    [
        ("list[list[string]]", [["Smith", "N/A", "500"], ["None"]]),
        ("list[{rows: list[list[string]]}]", [{"rows": [["N/A", "500"]]}]),
    ],
)
async def test_cells_of_a_table_keep_their_places(kind, value):
    assert await answer({"paid": value}, {"paid": kind}) == {"paid": value}


@pytest.mark.parametrize(
    "value",
    [
        {"headers": ["Name", "Badge"], "items": [{"spans": [], "value": ["Smith", "N/A"]}]},
        {"paid": {"headers": ["Name", "None"], "rows": [["Smith", "N/A"]]}},
    ],
)
def test_a_table_and_a_table_that_is_an_answer_keep_every_cell(value):
    assert without_fillers(Question("Which?", {}, ""), Reply(value=value, text="")).value == value

import math

import pytest
from scripted_tools import ScriptedTools, prompt_of, rows_of, run, template, values_of

from engine.errors import PipelineError
from engine.operators.link_resolve import LinkResolve
from models.errors import ModelCrashed

COMPARE = template("{{ link_value }}|{{ id_value }}|{{ item.description }}", "link_value", "id_value", "item")

# The sample of DocETL's page
TERMS = [
    {
        "title": "Sailing vessel",
        "related_to": ["Main sail", "Main mast", "Rudder"],
        "description": "A boat or ship propelled by sails. Typically with a very hydrodynamical hull.",
    },
    {
        "title": "Catamaran",
        "related_to": ["Sailing boat", "Hull"],
        "description": "A type of vessel with two parallel hulls",
    },
    {
        "title": "Sail (main)",
        "related_to": ["Sheet"],
        "description": "A cloth set up to catch the force of the wind",
    },
    {
        "title": "Sheet (sailing)",
        "related_to": [],
        "description": "Ropes used to trim the angle of the sails",
    },
    {
        "title": "Rudder angle",
        "related_to": [],
        "description": "The rudder angle decides the rate of turn of the vessel",
    },
]
SAME = {("Main sail", "Sail (main)"), ("Sailing boat", "Sailing vessel")}
DEGREES = {
    "Sailing vessel": 0, "Catamaran": 20, "Sail (main)": 60, "Sheet (sailing)": 80, "Rudder angle": 120,
    "Main sail": 62, "Main mast": 70, "Rudder": 118, "Sailing boat": 2, "Hull": 30, "Sheet": 82,
}  # fmt: skip


def link_resolve(**settings):
    return LinkResolve(name="fix_links", **{"comparison_prompt": COMPARE, "blocking_threshold": 0.85, **settings})


def tools(reply=None, **degrees):
    vectors = {w: [math.cos(math.radians(d)), math.sin(math.radians(d))] for w, d in (DEGREES | degrees).items()}
    return ScriptedTools(reply or (lambda r: {"same": pair_of(r) in SAME}), vectors=vectors)


def pair_of(request):
    return tuple(prompt_of(request).split("\n")[0].split("|")[:2])


async def test_the_sample_of_docetls_page():
    outcome = await run(link_resolve(), rows_of(*TERMS), tools())
    # "The above makes two replacements in the related_to keys"
    assert values_of(outcome) == [
        TERMS[0] | {"related_to": ["Sail (main)", "Main mast", "Rudder"]},
        TERMS[1] | {"related_to": ["Sailing vessel", "Hull"]},
        *TERMS[2:],
    ]


async def test_ids_are_compared_from_the_most_similar_on_until_one_is_the_same():
    asked = tools()
    outcome = await run(link_resolve(), rows_of(*TERMS), asked)
    pairs = [pair_of(r) for r in asked.requests]
    assert ("Main sail", "Sail (main)") in pairs
    assert ("Main sail", "Sheet (sailing)") not in pairs  # it is found already
    assert ("Main mast", "Sail (main)") in pairs
    assert ("Main mast", "Sheet (sailing)") in pairs
    assert prompt_of(asked.requests[0]).split("\n")[0].split("|")[2] in {t["description"] for t in TERMS}
    told = {(d.left, d.right): (d.verdict, d.by) for d in outcome.decisions}
    assert told["Main sail", "Sail (main)"] == ("same", "model")
    assert told["Main sail", "Sheet (sailing)"] == ("undecided", "limit")
    assert told["Hull", "Catamaran"] == ("different", "model")


async def test_links_that_are_ids_and_links_that_come_twice_are_not_asked_about():
    rows = [
        {"title": "A", "related_to": ["B", "b2", "b2"], "description": ""},
        {"title": "B", "related_to": ["b2", "A"], "description": ""},
    ]
    asked = tools(lambda _: {"same": True}, A=0, B=90, b2=85)
    outcome = await run(link_resolve(), rows_of(*rows), asked)
    assert [row["related_to"] for row in values_of(outcome)] == [["B", "B", "B"], ["B", "A"]]
    assert len(asked.requests) == 1


async def test_nothing_to_resolve_needs_no_model():
    for rows in (
        [],
        [{"title": "A", "related_to": ["A"]}],
        [{"title": None, "related_to": ["x"]}],
        [{"title": "A", "related_to": []}],
    ):
        asked = tools()
        outcome = await run(link_resolve(), rows_of(*rows), asked)
        assert [row["related_to"] for row in values_of(outcome)] == [row["related_to"] for row in rows]
        assert (asked.requests, asked.embedded) == ([], [])


async def test_a_single_link_null_and_numbers():
    rows = [
        {"title": "Sail (main)", "related_to": "Main sail", "description": ""},
        {"title": 7, "related_to": None, "description": ""},
        {"title": "C", "related_to": [7, None, "Main sail"], "description": ""},
    ]
    outcome = await run(link_resolve(), rows_of(*rows), tools(**{"7": 200, "C": 300}))
    assert [row["related_to"] for row in values_of(outcome)] == ["Sail (main)", None, [7, None, "Sail (main)"]]


async def test_what_is_no_link_fails_its_row_alone():
    rows = [{"title": "A", "related_to": [{"to": "B"}]}, {"title": "B"}, {"title": "C", "related_to": ["A"]}]
    outcome = await run(link_resolve(), rows_of(*rows), tools())
    assert [f.row.values["title"] for f in outcome.failed] == ["A", "B"]
    assert "a link is a dictionary, not text" in outcome.failed[0].error
    assert "there is no field 'related_to'" in outcome.failed[1].error
    assert [row["title"] for row in values_of(outcome)] == ["C"]


async def test_a_comparison_that_fails_leaves_the_link_and_is_recorded():
    def reply(request):
        raise ModelCrashed("the runtime stopped")

    rows = [TERMS[2] | {"related_to": ["Main sail"]}]
    outcome = await run(link_resolve(), rows_of(*rows), tools(reply))
    assert values_of(outcome) == rows
    assert [(d.left, d.right, d.verdict, d.by) for d in outcome.decisions] == [
        ("Main sail", "Sail (main)", "undecided", "error")
    ]


async def test_without_a_threshold_few_pairs_are_all_compared():
    asked = tools(lambda _: {"same": False})
    rows = [{"title": "Catamaran", "related_to": ["Rudder"], "description": ""}]
    await run(link_resolve(blocking_threshold=None), rows_of(*rows), asked)
    assert [pair_of(r) for r in asked.requests] == [("Rudder", "Catamaran")]


async def test_conditions_see_the_link_and_the_item():
    asked = tools()
    node = link_resolve(blocking_threshold=None, blocking_conditions=("left.link_value in right.title",))
    await run(node, rows_of(*TERMS), asked)
    assert [pair_of(r) for r in asked.requests] == [("Rudder", "Rudder angle"), ("Sheet", "Sheet (sailing)")]
    assert asked.embedded == []


def test_bad_settings_are_refused():
    with pytest.raises(PipelineError, match="id_key and link_key are both 'title'"):
        link_resolve(link_key="title")


def test_what_it_reads_is_known_before_a_run():
    traits = link_resolve().traits()
    assert traits.reads == {"title", "related_to", "description"}
    assert traits.writes == {"related_to"}
    assert not traits.reads_unknown

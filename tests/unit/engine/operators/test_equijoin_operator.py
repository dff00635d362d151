import math

import pytest
from join_rows import join, reasons, side
from scripted_tools import ScriptedTools, prompt_of, template, values_of

from engine.errors import PipelineError
from engine.language.checks import check, field_flow
from engine.loader import parse_pipeline
from engine.operators.equijoin import Equijoin
from models.errors import ModelCrashed

COMPARE = template("{{ left.drug }}|{{ right.term }}", "left", "right")

DEGREES = {"aspirin": 0, "ibuprofen": 90, "Aspirin 100": 5, "acetylsalicylic acid": 20, "Advil": 80, "": 0}
SAME = {
    ("aspirin", "Aspirin 100"),
    ("aspirin", "acetylsalicylic acid"),
    ("ibuprofen", "Advil"),
}
VECTORS = {w: [math.cos(math.radians(d)), math.sin(math.radians(d))] for w, d in DEGREES.items()}
DRUGS = [{"drug": "aspirin", "id": 1}, {"drug": "ibuprofen", "id": 2}]
TERMS = [{"term": "Advil"}, {"term": "acetylsalicylic acid"}, {"term": "Aspirin 100"}]


def equijoin(**settings):
    return Equijoin(name="match", **{"comparison_prompt": COMPARE, **settings})


def pair_of(request):
    return tuple(prompt_of(request).split("\n")[0].split("|"))


def tools(reply=None):
    return ScriptedTools(reply or (lambda request: {"same": pair_of(request) in SAME}), vectors=VECTORS)


def decided(outcome):
    return [(d.left, d.right, d.verdict, d.by) for d in outcome.decisions]


async def test_rows_that_match_are_merged_in_the_order_of_both_sides():
    lefts, rights = side("l", *DRUGS), side("r", *TERMS)
    asked = tools()
    outcome = await join(equijoin(), lefts, rights, asked)
    assert values_of(outcome) == [
        {"drug": "aspirin", "id": 1, "term": "acetylsalicylic acid"},
        {"drug": "aspirin", "id": 1, "term": "Aspirin 100"},
        {"drug": "ibuprofen", "id": 2, "term": "Advil"},
    ]
    assert [row.parents for row in outcome.rows] == [
        (lefts[0].id, rights[1].id),
        (lefts[0].id, rights[2].id),
        (lefts[1].id, rights[0].id),
    ]
    # Few pairs are all compared; those of a left row follow each other, for they share the beginning of the prompt.
    assert len(asked.requests) == 6
    assert [pair_of(r)[0] for r in asked.requests] == ["aspirin"] * 3 + ["ibuprofen"] * 3
    assert sorted(decided(outcome)) == sorted(
        (a["drug"], b["term"], "same" if (a["drug"], b["term"]) in SAME else "different", "model")
        for a in DRUGS
        for b in TERMS
    )


async def test_a_field_of_both_sides_gets_two_names():
    # DocETL: joined_item[f"{key}_left" if key in right_item else key]
    node = equijoin(comparison_prompt=template("{{ left.name }}|{{ right.name }}", "left", "right"))
    given = ScriptedTools(lambda _: {"same": True}, vectors={"a": [1, 0], "b": [0, 1]})
    outcome = await join(node, [{"name": "a", "x": 1}], [{"name": "b", "y": 2}], given)
    assert values_of(outcome) == [{"name_left": "a", "x": 1, "name_right": "b", "y": 2}]


async def test_names_are_the_same_in_all_rows_however_ragged():
    lefts = [{"drug": "aspirin", "note": 1}, {"drug": "ibuprofen"}]
    rights = [{"term": "Aspirin 100"}, {"term": "Advil", "note": 2}]
    outcome = await join(equijoin(), lefts, rights, tools())
    assert values_of(outcome) == [
        {"drug": "aspirin", "note_left": 1, "term": "Aspirin 100"},
        {"drug": "ibuprofen", "term": "Advil", "note_right": 2},
    ]


async def test_two_fields_of_one_name_are_refused_before_a_model_is_asked():
    asked = tools()
    with pytest.raises(PipelineError, match="two fields of that name") as caught:
        await join(equijoin(), [{"drug": "a", "x": 1, "x_left": 2}], [{"term": "b", "x": 3}], asked)
    assert "both inputs have the field 'x', and one of them also 'x_left'" in str(caught.value)
    assert asked.requests == []


async def test_rows_without_a_match_are_rejected_with_the_reason():
    outcome = await join(equijoin(), [DRUGS[1], {"drug": ""}], [TERMS[1], TERMS[0]], tools())
    assert reasons(outcome) == [
        ({"drug": ""}, "equijoin match: no match among 2 right rows (0 compared)"),
        (TERMS[1], "equijoin match: no match among 2 left rows (1 compared)"),
    ]


async def test_left_join_keeps_left_rows_with_nulls():
    outcome = await join(
        equijoin(how="left"), [DRUGS[1], {"drug": "aspirin", "id": 1}], [TERMS[0], {"term": ""}], tools()
    )
    assert values_of(outcome) == [
        {"drug": "ibuprofen", "id": 2, "term": "Advil"},
        {"drug": "aspirin", "id": 1, "term": None},
    ]
    assert [r.row.values for r in outcome.rejected] == [{"term": ""}]


@pytest.mark.parametrize(("how", "kept"), [("inner", 0), ("left", 2)])
async def test_an_empty_right_side(how, kept):
    asked = tools()
    outcome = await join(equijoin(how=how), DRUGS, [], asked)
    assert (len(outcome.rows), len(outcome.rejected)) == (kept, 2 - kept)
    assert (asked.requests, asked.embedded) == ([], [])


async def test_empty_sides():
    assert len((await join(equijoin(), [], TERMS, tools())).rejected) == 3
    assert (await join(equijoin(), [], [], tools())).rows == []


async def test_limits_keep_the_most_similar_and_save_calls():
    asked = tools()
    outcome = await join(equijoin(most_left=1), DRUGS, TERMS, asked)
    assert [row["term"] for row in values_of(outcome)] == ["Aspirin 100", "Advil"]
    # Each drug's most similar term is the right one, so no other is asked about.
    assert sorted(pair_of(r) for r in asked.requests) == [("aspirin", "Aspirin 100"), ("ibuprofen", "Advil")]
    limited = [d for d in outcome.decisions if d.by == "limit"]
    assert len(limited) == 4
    assert limited[0].verdict == "undecided"
    assert limited[0].detail == "one of them has its most similar matches already"
    assert reasons(outcome) == [
        (TERMS[1], "equijoin match: no match among 2 left rows (0 compared, 2 left out because of limits)")
    ]


async def test_limits_of_the_right_side():
    def reply(request):
        return {"same": True}

    outcome = await join(equijoin(most_right=1), DRUGS, TERMS, tools(reply))
    assert [(row["drug"], row["term"]) for row in values_of(outcome)] == [
        ("aspirin", "acetylsalicylic acid"),
        ("aspirin", "Aspirin 100"),
        ("ibuprofen", "Advil"),
    ]


async def test_limits_ask_on_after_a_no():
    asked = tools(lambda request: {"same": pair_of(request) == ("aspirin", "Advil")})
    outcome = await join(equijoin(most_left=1, most_right=1), DRUGS, TERMS, asked)
    assert [(row["drug"], row["term"]) for row in values_of(outcome)] == [("aspirin", "Advil")]
    assert len({pair_of(r) for r in asked.requests}) == len(asked.requests)


@pytest.mark.parametrize("most_left", [1, 2, None])
@pytest.mark.parametrize("most_right", [1, 2, None])
@pytest.mark.parametrize("seed", range(5))
async def test_limits_give_what_asking_one_by_one_from_the_most_similar_gives(most_left, most_right, seed):
    import numpy as np

    random = np.random.default_rng(seed)
    vectors = {f"{s}{i}": v / np.linalg.norm(v) for s in "lr" for i, v in enumerate(random.normal(size=(6, 4)))}
    truth = {(f"l{i}", f"r{j}") for i in range(6) for j in range(6) if random.random() < 0.5}
    cosines = {(a, b): vectors[a] @ vectors[b] for a in vectors for b in vectors if a[0] == "l" and b[0] == "r"}
    expected, left, right = set(), [], []
    for a, b in sorted(cosines, key=lambda pair: -round(float(cosines[pair]), 4)):
        full = left.count(a) == (most_left or 99) or right.count(b) == (most_right or 99)
        if not full and (a, b) in truth:
            expected.add((a, b))
            left.append(a)
            right.append(b)
    asked = ScriptedTools(lambda request: {"same": pair_of(request) in truth}, vectors=vectors)
    lefts, rights = [{"drug": f"l{i}"} for i in range(6)], [{"term": f"r{i}"} for i in range(6)]
    outcome = await join(equijoin(most_left=most_left, most_right=most_right), lefts, rights, asked)
    assert {(row["drug"], row["term"]) for row in values_of(outcome)} == expected


async def test_limit_comparisons_asks_the_most_similar_and_says_so():
    asked = tools()
    outcome = await join(equijoin(limit_comparisons=2), DRUGS, TERMS, asked)
    assert sorted(pair_of(r) for r in asked.requests) == [("aspirin", "Aspirin 100"), ("ibuprofen", "Advil")]
    assert [d.detail for d in outcome.decisions if d.by == "limit"] == ["limit_comparisons was reached"] * 4
    assert len((await join(equijoin(limit_comparisons=0), DRUGS, TERMS, tools())).rejected) == 5


@pytest.mark.parametrize("limit", [{"limit_comparisons": 2}, {"most_left": 1}])
async def test_of_pairs_that_a_condition_proposes_the_most_similar_are_asked_about(limit):
    asked = tools()
    node = equijoin(blocking_conditions=("left.drug and right.term",), **limit)
    await join(node, DRUGS, TERMS, asked)
    assert sorted(pair_of(r) for r in asked.requests) == [("aspirin", "Aspirin 100"), ("ibuprofen", "Advil")]


async def test_the_threshold_is_found_on_a_sample():
    import numpy as np

    eye = np.eye(40)
    vectors = {f"l{i}": eye[i] for i in range(20)}
    vectors |= {f"r{i}": 0.9 * eye[i] + math.sqrt(0.19) * eye[20 + i] for i in range(20)}
    asked = ScriptedTools(lambda r: {"same": pair_of(r)[0][1:] == pair_of(r)[1][1:]}, vectors=vectors)
    lefts, rights = [{"drug": f"l{i}"} for i in range(20)], [{"term": f"r{i}"} for i in range(20)]
    outcome = await join(equijoin(), lefts, rights, asked)
    assert len(outcome.rows) == 20
    assert len(asked.requests) == 200
    assert [d.left for d in outcome.decisions if d.by == "sample"] == ["similarity of at least 0.9000"]


async def test_conditions_and_keys_of_each_side():
    asked = tools()
    node = equijoin(blocking_conditions=("left.drug[:1] == right.term[:1].lower()",))
    await join(node, DRUGS, TERMS, asked)
    assert {pair_of(r) for r in asked.requests} == {("aspirin", t["term"]) for t in TERMS}
    assert asked.embedded == []
    asked = tools()
    await join(equijoin(left_keys=("drug",), right_keys=("term",), blocking_threshold=0.9), DRUGS, TERMS, asked)
    assert {pair_of(r) for r in asked.requests} == SAME


async def test_a_row_whose_comparison_fails_fails_unless_it_has_another_match():
    def reply(request):
        if "Advil" in prompt_of(request):
            raise ModelCrashed("the runtime stopped")
        return {"same": pair_of(request) in SAME}

    outcome = await join(equijoin(how="left"), DRUGS, TERMS, tools(reply))
    assert [row["term"] for row in values_of(outcome)] == ["acetylsalicylic acid", "Aspirin 100"]
    assert [f.row.values for f in outcome.failed] == [DRUGS[1], TERMS[0]]
    assert "operator 'match'" in outcome.failed[0].error
    assert "the runtime stopped" in outcome.failed[0].error
    assert [d for d in decided(outcome) if d[3] == "error"] == [
        ("aspirin", "Advil", "undecided", "error"),
        ("ibuprofen", "Advil", "undecided", "error"),
    ]


async def test_a_row_without_text_in_the_keys_is_not_compared():
    asked = tools()
    outcome = await join(equijoin(), [{"drug": None}, {"other": "x"}], [TERMS[2]], asked)
    assert reasons(outcome)[0][1] == "equijoin match: no match among 1 right rows (0 compared)"
    assert asked.requests == []


async def test_a_prompt_that_cannot_be_filled_in_fails_its_rows():
    prompt = template("{{ left.drug }}|{{ right.term }} {{ right.note }}", "left", "right")
    outcome = await join(equijoin(comparison_prompt=prompt, right_keys=("term",)), DRUGS[:1], [TERMS[2]], tools())
    assert len(outcome.failed) == 2
    assert "there is no field 'note'" in outcome.failed[0].error


async def test_a_dataset_may_be_joined_with_itself():
    rows = side("s", {"name": "a"}, {"name": "b"}, {"name": "c"})
    node = equijoin(comparison_prompt=template("{{ left.name }}|{{ right.name }}", "left", "right"))
    given = ScriptedTools(
        lambda r: {"same": pair_of(r) == ("a", "b")}, vectors={"a": [1, 0], "b": [0, 1], "c": [0.6, 0.8]}
    )
    outcome = await join(node, rows, rows, given)
    assert values_of(outcome) == [{"name_left": "a", "name_right": "b"}]
    assert [r.row.values["name"] for r in outcome.rejected] == ["c"]


@pytest.mark.parametrize(("said", "warns"), [(11, True), (10, False)])
async def test_a_model_that_says_yes_to_nearly_all_pairs_is_told_of(said, warns):
    """Of the 12 pairs of 3 left and 4 right rows, 11 are 92 % and 10 are 83 %."""
    drugs, terms = [{"drug": word} for word in "abc"], [{"term": word} for word in "wxyz"]
    answers = iter([True] * said + [False] * (12 - said))
    given = ScriptedTools(lambda _: {"same": next(answers)}, vectors=dict.fromkeys("abcwxyz", [1, 0]))
    outcome = await join(equijoin(), drugs, terms, given)
    assert len(outcome.rows) == said
    assert [w.split(",")[0] for w in outcome.warnings] == ["the model said yes to 11 of 12 pairs"] * warns


async def test_pairs_that_a_rule_chose_may_well_be_the_same():
    """Two pairs a row, of which all are the same, are what good blocking looks like."""
    drugs, terms = [{"drug": n} for n in range(6)], [{"term": n} for n in range(12)]
    node = equijoin(blocking_conditions=("right.term % 6 == left.drug",))
    outcome = await join(node, drugs, terms, ScriptedTools(lambda _: {"same": True}))
    assert (len(outcome.rows), outcome.warnings) == (12, [])


async def test_rows_of_one_text_have_names_of_their_own_in_the_ledger():
    outcome = await join(equijoin(), [DRUGS[0], DRUGS[0]], [TERMS[2]], tools())
    assert len({d.left for d in outcome.decisions}) == 2
    assert all(d.left.startswith("aspirin (row ") for d in outcome.decisions)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"most_left": 0}, "limits.left must be at least 1, not 0"),
        ({"most_right": -1}, "limits.right must be at least 1"),
        ({"blocking_conditions": ("left.x ==",)}, "is no expression"),
        ({"blocking_conditions": ("left.x | wordz == right.x",)}, "there is no filter 'wordz'"),
        ({"blocking_threshold": 3.0}, "is a cosine"),
    ],
)
def test_bad_settings_are_refused(settings, message):
    with pytest.raises(PipelineError, match=message):
        equijoin(**settings)


# The pipeline around a join

PIPELINE = """
datasets:
  articles: {{type: memory}}
  terms: {{type: memory}}
operations:
  - name: match
    type: equijoin
    comparison_prompt: "{prompt}"
    blocking_keys: {{left: [text], right: [name]}}
    limits: {{left: 2, right: 3}}
    embedding_model: text-embedding-3-small
  - name: after
    type: filter
    condition: {condition}
pipeline:
  steps:
    - name: joined
      operations: [{{match: {{left: articles, right: terms}}}}, after]
"""


def problems(condition, prompt="{{ left.text }} {{ right.name }}", right=("name", "id")):
    loaded = parse_pipeline(PIPELINE.format(prompt=prompt, condition=condition))
    sources = {"articles": ("id", "text"), "terms": right}
    return [str(p) + " | " + p.advice for p in check(loaded.plan, source_fields=sources)], field_flow(
        loaded.plan, source_fields=sources
    )


def test_a_field_of_both_sides_is_read_by_its_new_names():
    found, flow = problems("input.id_left == 1 and input.id_right == 2 and input.text == input.name")
    assert found == []
    assert flow == {"joined": {"id_left", "id_right", "text", "name"}}


def test_the_old_name_of_a_field_of_both_sides_is_an_error():
    [found], _ = problems("input.id == 1")
    assert "the field 'id', which both inputs of 'match' have | Read 'id_left' or 'id_right'." in found


def test_prompts_read_their_own_side():
    [found], _ = problems("input.text", prompt="{{ left.name }} {{ right.name }}")
    assert "comparison_prompt reads the field 'name', which nothing before it writes" in found


def test_a_third_field_in_the_way_is_an_error():
    [found], _ = problems("input.text", right=("name", "id", "id_left"))
    assert "both inputs have the field 'id', which becomes 'id_left': there is one already" in found


def test_unknown_fields_of_one_side_leave_the_flow_open():
    loaded = parse_pipeline(PIPELINE.format(prompt="{{ left.text }} {{ right.name }}", condition="input.any_left == 1"))
    assert check(loaded.plan, source_fields={"articles": ("id", "text")}) == []


async def test_known_fields_of_a_side_without_rows_are_null_and_get_two_names_where_the_other_side_has_them():
    given = ScriptedTools()
    given.joined_fields = (("id", "name"), ("id", "badge"))
    node = equijoin(how="left")
    outcome = await join(node, [{"id": 1, "name": "Roe"}], [], given)
    assert values_of(outcome) == [{"id_left": 1, "name": "Roe", "id_right": None, "badge": None}]

import json
from itertools import combinations
from pathlib import Path

import pytest
from scripted_tools import ScriptedTools, prompt_of, rows_of, run, schema, template, values_of

from engine.errors import PipelineError
from engine.operators.resolve import Resolve
from models.errors import ModelCrashed
from models.protocol import Sampling

SAMPLE = Path(__file__).parents[4] / "examples" / "police" / "gold.json"
COMPARE = template("{{ input1.name }}|{{ input2.name }}", "input1", "input2")
NAME = template("{% for i in inputs %}{{ i.name }}{{ '' if loop.last else '|' }}{% endfor %}", "inputs")

DIRECTIONS = {"Cat": 0.0, "Katze": 10.0, "Chat": 20.0, "Dog": 90.0, "Hund": 95.0}


def vectors():
    import numpy as np

    return {w: [float(np.cos(np.radians(a))), float(np.sin(np.radians(a)))] for w, a in DIRECTIONS.items()}


ANIMALS = {"Cat": "cat", "Katze": "cat", "Chat": "cat", "Dog": "dog", "Hund": "dog"}


class Animals:
    """A model that knows the words, and names a group by its alphabetically first word."""

    def __init__(self):
        self.compared = []

    def __call__(self, request):
        words = prompt_of(request).split("\n")[0].split("|")
        if request.purpose.task == "compare":
            self.compared.append(tuple(words))
            return {"same": ANIMALS[words[0]] == ANIMALS[words[1]]}
        return {"name": min(words)}


def names(*words, document=None):
    return rows_of(*({"name": w} for w in words), document=document)


def resolve(**settings):
    settings = {"schema": schema(name="string"), "comparison_prompt": COMPARE, **settings}
    return Resolve(name="r", **settings)


def decided(outcome):
    return [(d.left, d.right, d.verdict, d.by) for d in outcome.decisions]


async def test_values_that_mean_the_same_get_one_canonical_value_and_all_rows_stay():
    model = Animals()
    tools = ScriptedTools(model, vectors=vectors())
    rows = names("Cat", "Dog", "Katze", "Cat", "Hund")
    outcome = await run(resolve(resolution_prompt=NAME, blocking_threshold=0.5), rows, tools)
    assert [r["name"] for r in values_of(outcome)] == ["Cat", "Dog", "Cat", "Cat", "Dog"]
    assert [r.parents for r in outcome.rows] == [(row.id,) for row in rows]
    assert tools.embedded == ["Cat", "Dog", "Katze", "Hund"]
    assert sorted(model.compared) == [("Cat", "Katze"), ("Dog", "Hund")]
    assert decided(outcome) == [("Dog", "Hund", "same", "model"), ("Cat", "Katze", "same", "model")]
    assert outcome.decisions[0].subject == "name"


@pytest.mark.parametrize(("own", "expected"), [(None, 0.0), (0.2, 0.2)])
async def test_dice_decide_about_no_pair_unless_the_operator_says_so(own, expected):
    model, asked = Animals(), []
    tools = ScriptedTools(lambda request: asked.append(request) or model(request), vectors=vectors())
    tools.sampling = Sampling(temperature=0.7)
    await run(resolve(blocking_threshold=0.5, temperature=own), names("Cat", "Katze", "Dog", "Hund"), tools)
    assert {request.sampling.temperature for request in asked} == {expected}


async def test_pairs_that_follow_from_others_are_not_asked():
    model = Animals()
    outcome = await run(resolve(), names("Cat", "Katze", "Chat"), ScriptedTools(model, vectors=vectors()))
    # All three are within 0.5 of each other; two answers give the third.
    assert model.compared == [("Cat", "Katze"), ("Katze", "Chat")]
    assert decided(outcome)[2] == ("Cat", "Chat", "same", "transitivity")


async def test_a_pair_is_asked_after_all_when_the_chain_breaks():
    class NoChat(Animals):
        def __call__(self, request):
            return {"same": False} if super().__call__(request) and "Chat" in prompt_of(request) else {"same": True}

    model = NoChat()
    outcome = await run(resolve(), names("Cat", "Katze", "Chat"), ScriptedTools(model, vectors=vectors()))
    assert model.compared == [("Cat", "Katze"), ("Katze", "Chat"), ("Cat", "Chat")]
    assert [r["name"] for r in values_of(outcome)] == ["Cat", "Cat", "Chat"]


async def test_the_threshold_decides_what_is_compared():
    model = Animals()
    await run(resolve(blocking_threshold=0.99), names("Cat", "Katze", "Hund"), ScriptedTools(model, vectors=vectors()))
    assert model.compared == []


async def test_conditions_propose_without_embeddings():
    model = Animals()
    tools = ScriptedTools(model)
    node = resolve(blocking_conditions=("left.name[0] == right.name[0]",))
    outcome = await run(node, names("Cat", "Chat", "Dog"), tools)
    assert (model.compared, tools.embedded) == ([("Cat", "Chat")], [])
    assert [r["name"] for r in values_of(outcome)] == ["Cat", "Cat", "Dog"]


async def test_limit_comparisons_leaves_the_rest_undecided_and_says_so():
    model = Animals()
    outcome = await run(
        resolve(limit_comparisons=1), names("Cat", "Dog", "Katze", "Hund"), ScriptedTools(model, vectors=vectors())
    )
    assert model.compared == [("Dog", "Hund")]
    assert decided(outcome)[1] == ("Cat", "Katze", "undecided", "limit")
    assert [r["name"] for r in values_of(outcome)] == ["Cat", "Dog", "Katze", "Dog"]


@pytest.mark.parametrize(
    ("same_of", "count", "warned"),
    [
        (
            lambda pair: True,
            12,
            "12 of 12 different values were joined into one, because the model called 11 of 11 pairs",
        ),
        (lambda pair: True, 10, ""),  # nine pairs are too few
        (  # each is the same as the next one only
            lambda pair: abs(int(pair[0][1:]) - int(pair[1].split()[0][1:])) == 1,
            12,
            "12 of 12 different values were joined into one, though of ",
        ),
        (lambda pair: pair[0][0] == pair[1][0], 12, ""),  # two groups, told apart
    ],
)
async def test_a_model_that_calls_all_pairs_the_same_is_doubted(same_of, count, warned):
    words = [f"{'ab'[n % 2]}{n}" for n in range(count)]
    model = lambda request: {"same": same_of(prompt_of(request).split("|"))}  # noqa: E731
    tools = ScriptedTools(model, vectors={word: [1.0, 0.0] for word in words})
    outcome = await run(resolve(), names(*words), tools)
    assert [warned in warning for warning in outcome.warnings] == ([True] if warned else [])


async def test_a_comparison_that_fails_merges_nothing_and_is_recorded():
    def reply(_request):
        raise ModelCrashed("the runtime stopped")

    outcome = await run(resolve(), names("Cat", "Katze"), ScriptedTools(reply, vectors=vectors()))
    assert decided(outcome) == [("Cat", "Katze", "undecided", "error")]
    assert outcome.decisions[0].detail == "the runtime stopped"
    assert len(outcome.rows) == 2


async def test_a_cluster_that_cannot_be_named_fails_its_rows_only():
    def reply(request):
        if request.purpose.task == "compare":
            return {"same": True}
        raise ModelCrashed("the runtime stopped")

    rows = names("Cat", "Dog", "Katze")
    node = resolve(resolution_prompt=NAME, blocking_threshold=0.5)
    outcome = await run(node, rows, ScriptedTools(reply, vectors=vectors()))
    assert [f.row for f in outcome.failed] == [rows[0], rows[2]]
    assert values_of(outcome) == [{"name": "Dog"}]


async def test_the_user_has_the_first_word():
    model = Animals()
    node = resolve(blocking_threshold=0.5, same_as=[["Cat", "dog"]], keep_apart=[["Katze", "Cat"], ["Cat", "Fish"]])
    outcome = await run(node, names("Cat", "Dog", "Katze"), ScriptedTools(model, vectors=vectors()))
    assert [r["name"] for r in values_of(outcome)] == ["Cat", "Cat", "Katze"]
    assert decided(outcome) == [
        ("Cat", "Katze", "different", "user"),
        ("Cat", "Fish", "undecided", "user"),
        ("Cat", "Dog", "same", "user"),
        ("Cat", "Katze", "different", "constraint"),
    ]
    assert model.compared == []
    assert isinstance(hash(node), int)


async def test_a_name_whose_accents_are_characters_of_their_own_is_the_same_name():
    composed, apart, other = "Jos\u00e9 D\u00edaz", "Jose\u0301 Di\u0301az", "Ren\u00e9 Roy"
    node = Resolve(name="r", schema=schema(name="string"), keep_apart=[[composed, other]], similarity_threshold=0.99)
    tools = ScriptedTools(vectors={composed: [1.0, 0.0], apart: [0.0, 1.0], other: [1.0, 0.0]})
    outcome = await run(node, names(apart, composed, other), tools)
    assert [row["name"] for row in values_of(outcome)] == [apart, apart, other]
    assert (apart, other, "different", "user") in decided(outcome)


@pytest.mark.parametrize(("canonical", "expected"), [("most_common", "Cat"), ("longest", "Katze"), (None, "Cat")])
async def test_code_chooses_the_canonical_value(canonical, expected):
    tools = ScriptedTools(Animals(), vectors=vectors())
    outcome = await run(resolve(canonical=canonical), names("Katze", "Cat", "Cat"), tools)
    assert [r["name"] for r in values_of(outcome)] == [expected] * 3


async def test_the_original_is_kept_where_the_schema_names_it():
    node = resolve(schema=schema(name="string", name_original="string"), resolution_prompt=NAME)
    tools = ScriptedTools(Animals(), vectors=vectors())
    outcome = await run(node, names("Katze", "Cat", "Dog"), tools)
    assert values_of(outcome) == [
        {"name": "Cat", "name_original": "Katze"},
        {"name": "Cat", "name_original": "Cat"},
        {"name": "Dog", "name_original": "Dog"},
    ]
    asked = [r for r in tools.requests if r.purpose.task != "compare"]
    assert [list(r.schema["properties"]) for r in asked] == [["name"]]


async def test_the_entity_is_one_number_for_all_that_means_the_same():
    node = resolve(schema=schema(name="string", name_entity="integer"), resolution_prompt=NAME)
    tools = ScriptedTools(Animals(), vectors=vectors())
    outcome = await run(node, names("Katze", "Dog", "Cat"), tools)
    assert values_of(outcome) == [
        {"name": "Cat", "name_entity": 1},
        {"name": "Dog", "name_entity": 2},
        {"name": "Cat", "name_entity": 1},
    ]
    asked = [r for r in tools.requests if r.purpose.task != "compare"]
    assert [list(r.schema["properties"]) for r in asked] == [["name"]]


async def test_a_new_field_is_written_for_every_row_also_for_single_values():
    node = resolve(
        schema=schema(animal="string"),
        resolution_prompt=NAME,
        blocking_keys=("name",),
        comparison_prompt=COMPARE,
    )

    def reply(request):
        words = prompt_of(request).split("\n")[0].split("|")
        if request.purpose.task == "compare":
            return {"same": ANIMALS[words[0]] == ANIMALS[words[1]]}
        return {"animal": ANIMALS[words[0]]}

    outcome = await run(node, names("Cat", "Katze", "Dog"), ScriptedTools(reply, vectors=vectors()))
    assert values_of(outcome) == [
        {"name": "Cat", "animal": "cat"},
        {"name": "Katze", "animal": "cat"},
        {"name": "Dog", "animal": "dog"},
    ]


async def test_rows_without_a_value_pass_unchanged():
    rows = rows_of({"name": "Cat"}, {"name": None}, {"name": ""})
    outcome = await run(resolve(), rows, ScriptedTools(Animals(), vectors=vectors()))
    assert [r["name"] for r in values_of(outcome)] == ["Cat", None, ""]


# The rule person_name


def refuse(_request):
    raise AssertionError("the model must not be asked")


def people(*mentions):
    return rows_of(*({"name": name, "_document": document} for name, document in mentions))


def officers(**settings):
    return resolve(rules=("person_name",), canonical="longest", **settings)


async def test_rules_join_forms_of_one_name_without_a_model_or_embeddings():
    rows = people(
        ("HARMON, DANIEL", "d1"), ("Sgt. Daniel Harmon", "d2"), ("Harmon", "d1"), ("D. Harmon", "d2"), ("Keller", "d1")
    )
    tools = ScriptedTools(refuse)
    outcome = await run(officers(), rows, tools)
    assert [r["name"] for r in values_of(outcome)] == ["Sgt. Daniel Harmon"] * 4 + ["Keller"]
    assert decided(outcome) == [
        ("HARMON, DANIEL", "Sgt. Daniel Harmon", "same", "identical"),
        ("HARMON, DANIEL", "Harmon", "same", "only_bearer_in_document"),
        ("Sgt. Daniel Harmon", "D. Harmon", "same", "only_bearer_in_document"),
    ]
    assert tools.embedded == []


async def test_one_surname_alone_in_two_documents_is_two_mentions():
    rows = people(("Daniel Harmon", "d1"), ("Harmon", "d1"), ("Michael Harmon", "d2"), ("Harmon", "d2"))
    outcome = await run(officers(), rows, ScriptedTools(refuse))
    assert [r["name"] for r in values_of(outcome)] == ["Daniel Harmon"] * 2 + ["Michael Harmon"] * 2


async def test_two_of_one_name_who_were_not_found_to_be_the_same_have_different_numbers():
    rows = people(("Harmon", "d1"), ("Harmon", "d2"), ("Harmon", "d1"))
    node = officers(schema=schema(name="string", name_entity="integer"))
    outcome = await run(node, rows, ScriptedTools(lambda _: {"same": False}))
    assert [(r["name"], r["name_entity"]) for r in values_of(outcome)] == [("Harmon", 1), ("Harmon", 2), ("Harmon", 1)]


async def test_two_officers_of_one_surname_in_a_record_stay_two_even_if_the_model_would_join_them():
    rows = people(("Daniel Harmon", "d1"), ("Michael Harmon", "d1"), ("Harmon", "d1"), ("Harmon", "d2"))
    outcome = await run(officers(), rows, ScriptedTools(lambda _: {"same": True}))
    assert [r["name"] for r in values_of(outcome)] == ["Daniel Harmon", "Michael Harmon", "Harmon", "Harmon"]
    assert ("Daniel Harmon", "Michael Harmon", "different", "rule") in decided(outcome)
    # The model takes the surname alone in d2 for both, so it is joined to neither.
    assert ("Daniel Harmon", "Harmon", "undecided", "constraint") in decided(outcome)
    assert ("Michael Harmon", "Harmon", "undecided", "constraint") in decided(outcome)
    assert [d for d in decided(outcome) if d[3] == "several_bearers_in_document"] == [
        ("Daniel Harmon", "Harmon", "different", "several_bearers_in_document"),
        ("Michael Harmon", "Harmon", "different", "several_bearers_in_document"),
    ]


async def test_a_contested_mention_goes_to_the_one_the_model_chooses():
    rows = people(("Daniel Harmon", "d1"), ("Michael Harmon", "d1"), ("Harmon", "d2"))
    tools = ScriptedTools(lambda request: {"same": prompt_of(request).startswith("Michael")})
    outcome = await run(officers(), rows, tools)
    assert [r["name"] for r in values_of(outcome)] == ["Daniel Harmon", "Michael Harmon", "Michael Harmon"]
    assert ("Daniel Harmon", "Harmon", "different", "model") in decided(outcome)


async def test_the_limit_holds_for_contested_mentions_too():
    rows = people(("Daniel Harmon", "d1"), ("Michael Harmon", "d1"), ("Harmon", "d2"), ("Harmon", "d3"))
    tools = ScriptedTools(lambda _: {"same": False})
    outcome = await run(officers(limit_comparisons=2), rows, tools)
    assert len(tools.requests) == 2
    assert [d[3] for d in decided(outcome)].count("limit") == 3


async def test_what_is_left_to_do_is_never_less_than_what_is_done():
    rows = people(("Daniel Harmon", "d1"), ("Michael Harmon", "d1"), ("Harmon", "d2"))
    tools = ScriptedTools(lambda _: {"same": False})
    seen: list[tuple[int, int]] = []
    tools.progress = lambda done, total: seen.append((done, total))
    await run(officers(limit_comparisons=40), rows, tools)
    assert seen
    assert all(0 <= done <= total for done, total in seen), seen


async def test_candidates_are_left_undecided_without_a_comparison_prompt():
    rows = people(("Daniel Harmon", "d1"), ("Harmon", "d2"))
    node = Resolve(name="r", schema=schema(name="string"), rules=("person_name",))
    outcome = await run(node, rows, ScriptedTools(refuse))
    assert decided(outcome) == [("Daniel Harmon", "Harmon", "undecided", "rule")]
    assert outcome.decisions[0].detail == "a first name is missing; no comparison_prompt to ask"
    assert not node.traits().calls_model


async def test_the_model_is_shown_the_record_of_each_mention():
    prompt = template(
        "{{ input1.name }} in {{ input1.doc }} / {{ input2.name }} in {{ input2.doc }}", "input1", "input2"
    )
    rows = rows_of(
        {"name": "Daniel Harmon", "doc": "a", "_document": "d1"},
        {"name": "Harmon", "doc": "b", "_document": "d2"},
        {"name": "Harmon", "doc": "c", "_document": "d3"},
    )
    tools = ScriptedTools(lambda _: {"same": False})
    await run(officers(comparison_prompt=prompt), rows, tools)
    assert [prompt_of(r).split("\n")[0] for r in tools.requests] == [
        "Daniel Harmon in a / Harmon in b",
        "Daniel Harmon in a / Harmon in c",
        "Harmon in b / Harmon in c",
    ]
    assert tools.requests[0].schema == {"type": "boolean"}


async def test_on_the_sample_case_rules_alone_join_no_two_officers():
    gold = json.loads(SAMPLE.read_text("utf-8"))
    named = [
        ({"name": form, "_document": file}, person["id"])
        for person in gold["officers"]
        for file, forms in person["forms"].items()
        for form in forms
    ]
    outcome = await run(officers(), rows_of(*(row for row, _ in named)), ScriptedTools(lambda _: {"same": False}))
    found = [row.values["name"] for row in outcome.rows]
    pairs = [(found[i] == found[j], named[i][1] == named[j][1]) for i, j in combinations(range(len(found)), 2)]
    assert (True, False) not in pairs
    assert pairs.count((True, True)) / sum(gold_same for _, gold_same in pairs) > 0.7


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"comparison_prompt": None}, "no way to compare"),
        ({"rules": ("names",)}, "there is no rule 'names'"),
        ({"canonical": "first"}, "canonical cannot be 'first'"),
        ({"canonical": "model"}, "needs a resolution_prompt"),
        ({"blocking_threshold": 2.0}, "is a cosine, not 2.0"),
        ({"limit_comparisons": -1}, "must not be negative"),
        ({"same_as": [["a"]]}, "same_as must be a list of pairs"),
        ({"blocking_conditions": ("left.x ==",)}, "is no expression"),
        ({"resolution_prompt": NAME, "input": {"nam": "string"}}, "reads the field 'name', which input leaves out"),
    ],
)
def test_bad_settings_are_refused(settings, message):
    with pytest.raises(PipelineError, match=message):
        resolve(**settings)


def test_traits_read_what_prompts_and_rules_need():
    traits = officers(resolution_prompt=NAME, blocking_keys=("badge",)).traits()
    assert traits.reads == {"name", "badge"}
    assert traits.writes == {"name"}
    assert not traits.row_local


def test_fields_whose_values_are_chosen_must_be_there_and_those_that_a_model_writes_need_not():
    new = schema(animal="string", animal_original="string")
    assert resolve(schema=new).traits().reads == {"name", "animal"}
    assert resolve(schema=new, resolution_prompt=NAME, canonical="longest").traits().reads == {"name", "animal"}
    assert resolve(schema=new, resolution_prompt=NAME).traits().reads == {"name"}

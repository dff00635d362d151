from __future__ import annotations

import asyncio
import math
import re

import numpy as np
import pytest
from scripted_run import pipeline, write_jsonl
from scripted_tools import ScriptedTools, prompt_of, rows_of, run, schema, template, values_of

from engine.errors import PipelineError
from engine.operators import cluster as module
from engine.operators.cluster import Cluster, Tree, collapse, cut, ward_tree

# The concepts of DocETL's page: sheds, barns and tree houses; castles and fortresses.
POINTS = {"Shed": [0, 0], "Barn": [1, 0], "Tree house": [4, 0], "Castle": [20, 0], "Fortress": [22, 0]}
PROMPT = "{% for input in inputs %}[{{ input.concept }}]{% endfor %}"

# Ward: |A| |B| / (|A| + |B|) times the squared distance of the middles is half the squared distance of the merge.
OUTBUILDINGS = 1.0
FORTIFIED = 2.0
AUXILIARY = math.sqrt(2 * 2 / 3) * 3.5
ALL_OF_THEM = math.sqrt(2 * 3 * 2 / 5) * (21 - 5 / 3)


def cluster(prompt=PROMPT, **settings):
    settings = {"embedding_keys": ("concept",), "summary_schema": schema(concept="string"), **settings}
    return Cluster(name="c", summary_prompt=template(prompt, "inputs"), **settings)


def concepts(*names):
    return rows_of(*({"concept": name} for name in names or POINTS))


def name(request):
    """Name a cluster by what it is made of."""
    found = re.findall(r"\[(.*?)\]", prompt_of(request).split("\n\nAnswer with")[0])
    return {"concept": "+".join(found)}


def tools(reply=name, points=POINTS, **more):
    return ScriptedTools(reply, vectors=points, **more)


def paths(outcome, key="clusters"):
    return {v["concept"]: [(c["concept"], round(c["distance"], 5)) for c in v[key]] for v in values_of(outcome)}


async def test_each_row_has_its_clusters_from_the_smallest_to_that_of_all():
    with_tools = tools()
    outcome = await run(cluster(output_key="categories"), concepts(), with_tools)
    low, middle = ("Shed+Barn", OUTBUILDINGS), ("Tree house+Shed+Barn", round(AUXILIARY, 5))
    strong = ("Castle+Fortress", FORTIFIED)
    top = ("Castle+Fortress+Tree house+Shed+Barn", round(ALL_OF_THEM, 5))
    assert paths(outcome, "categories") == {
        "Shed": [low, middle, top],
        "Barn": [low, middle, top],
        "Tree house": [middle, top],
        "Castle": [strong, top],
        "Fortress": [strong, top],
    }
    assert len(with_tools.requests) == 4
    assert list(outcome.rows[0].values["categories"][0]) == ["distance", "concept"]
    assert [row.parents for row in outcome.rows] == [(row.id,) for row in concepts()]
    assert with_tools.reports[-1] == (4, 4)


async def test_the_same_rows_give_the_same_clusters():
    assert paths(await run(cluster(), concepts(), tools())) == paths(await run(cluster(), concepts(), tools()))


@pytest.mark.parametrize("settings", [{"num_clusters": 2}, {"distance_threshold": 5}])
async def test_flat_clusters_are_named_from_their_rows(settings):
    with_tools = tools()
    outcome = await run(cluster(**settings), concepts(), with_tools)
    near = [("Shed+Barn+Tree house", round(AUXILIARY, 5))]
    far = [("Castle+Fortress", FORTIFIED)]
    assert list(paths(outcome).values()) == [near, near, near, far, far]
    assert len(with_tools.requests) == 2


async def test_a_flat_cluster_may_be_one_row():
    assert paths(await run(cluster(num_clusters=99), concepts("Shed", "Barn"), tools())) == {
        "Shed": [("Shed", 0)],
        "Barn": [("Barn", 0)],
    }


async def test_collapse_leaves_out_clusters_hardly_nearer_than_the_one_above():
    # Steps in distance: auxiliary to outbuildings 3.0, all to auxiliary 25.9, all to fortified 27.95. Two thirds of
    # three are two, so a cluster must be 27.95 nearer. The auxiliary one is not; outbuildings, then right below all of
    # them, are 28.95 nearer.
    outcome = await run(cluster(collapse=0.67), concepts(), tools())
    assert {name: [c for c, _ in path] for name, path in paths(outcome).items()} == {
        "Shed": ["Shed+Barn", "Castle+Fortress+Tree house+Shed+Barn"],
        "Barn": ["Shed+Barn", "Castle+Fortress+Tree house+Shed+Barn"],
        "Tree house": ["Castle+Fortress+Tree house+Shed+Barn"],
        "Castle": ["Castle+Fortress", "Castle+Fortress+Tree house+Shed+Barn"],
        "Fortress": ["Castle+Fortress", "Castle+Fortress+Tree house+Shed+Barn"],
    }


@pytest.mark.parametrize("names", [(), ("Shed",)])
async def test_nothing_is_asked_about_fewer_than_two_rows(names):
    rows = concepts(*names) if names else []
    with_tools = tools()
    outcome = await run(cluster(), rows, with_tools)
    assert [row["clusters"] for row in values_of(outcome)] == [[]] * len(rows)
    assert (with_tools.requests, with_tools.embedded) == ([], [])


async def test_equal_rows_are_clustered_at_distance_0():
    assert paths(await run(cluster(), concepts("Shed", "Shed"), tools())) == {"Shed": [("Shed+Shed", 0)]}


async def test_a_row_without_the_field_fails_and_one_without_text_is_in_no_cluster():
    empty = ({"concept": value} for value in (None, " ", []))
    rows = rows_of({"concept": "Shed"}, {"other": 1}, *empty, {"concept": "Barn"})
    outcome = await run(cluster(), rows, tools())
    assert [f.row for f in outcome.failed] == [rows[1]]
    assert "there is no field 'concept'; the fields there are: other" in outcome.failed[0].error
    assert [len(v["clusters"]) for v in values_of(outcome)] == [1, 0, 0, 0, 1]


async def test_a_cluster_that_cannot_be_named_fails_its_rows_and_the_rest_is_named_without_them():
    def reply(request):
        return {} if prompt_of(request).startswith("[Castle][Fortress]") else name(request)

    rows = concepts()
    outcome = await run(cluster(), rows, tools(reply))
    assert [f.row for f in outcome.failed] == rows[3:]
    assert "does not fit its schema" in outcome.failed[0].error
    assert paths(outcome)["Shed"][-1] == ("Tree house+Shed+Barn", round(ALL_OF_THEM, 5))


async def test_where_the_last_cluster_cannot_be_named_all_rows_fail():
    outcome = await run(cluster(), concepts(), tools(lambda _: {}))
    assert (len(outcome.failed), outcome.rows) == (5, [])


async def test_more_rows_than_fit_a_prompt_are_named_in_parts():
    names = [f"thing{i}" for i in range(40)]
    points = {n: [i, 0] for i, n in enumerate(names)}
    seen = []

    def reply(request):
        found = re.findall(r"<(\w+)>", prompt_of(request))
        seen.append(found)
        return {"concept": "name" if len(found) > 1 else found[0]}

    prompt = "{% for i in inputs %}<{{ i.concept }}> of a long list of things {% endfor %}"
    with_tools = tools(reply, points, context_tokens=300)
    outcome = await run(cluster(prompt, num_clusters=1), concepts(*names), with_tools)
    assert paths(outcome)["thing0"][0][0] == "name"
    assert sorted(n for found in seen for n in found if n != "name") == sorted(names)
    assert set(seen[-1]) == {"name"}
    assert max(sum(len(s.text.split()) for s in r.segments) for r in with_tools.requests) <= 300 - 100 - 64


async def test_at_most_max_batch_size_clusters_are_named_at_once():
    class Counting(ScriptedTools):
        now = most = 0

        async def ask(self, request):
            self.now += 1
            self.most = max(self.most, self.now)
            await asyncio.sleep(0)
            self.now -= 1
            return await super().ask(request)

    names = [f"t{i}" for i in range(16)]
    points = {n: [i // 2 * 10, i % 2] for i, n in enumerate(names)}
    for size, most in ((3, 3), (None, 8)):
        counting = Counting(name, vectors=points)
        await run(cluster(max_batch_size=size), concepts(*names), counting)
        assert counting.most == most


async def test_too_many_rows_fail_with_the_limit(monkeypatch):
    monkeypatch.setattr(module, "MAX_ROWS", 4)
    with_tools = tools()
    rows = concepts()
    outcome = await run(cluster(), rows, with_tools)
    assert [f.row for f in outcome.failed] == rows
    assert "5 rows are too many to cluster: at most 4" in outcome.failed[0].error
    assert with_tools.embedded == []


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"embedding_keys": ()}, "embedding_keys names no field"),
        ({"output_key": ""}, "output_key is empty"),
        ({"prompt": "Name {{ 'it' }}."}, "does not use 'inputs'"),
        ({"summary_schema": schema(distance="float")}, "has a field 'distance'"),
        ({"prompt": "{{ inputs[0].description }}"}, "reads the field 'description', which clusters do not have"),
        ({"num_clusters": 0}, "num_clusters must be at least 1"),
        ({"distance_threshold": -1.0}, "distance_threshold must not be negative"),
        ({"collapse": 1.5}, "collapse is a share from 0 to 1"),
        ({"max_batch_size": 0}, "max_batch_size must be at least 1"),
        ({"num_clusters": 2, "collapse": 0.5}, "collapse and num_clusters exclude each other"),
    ],
)
def test_bad_settings_are_refused(settings, message):
    with pytest.raises(PipelineError, match=message):
        cluster(**settings)


def test_a_flat_cluster_may_be_named_by_what_only_rows_have():
    assert cluster("{{ inputs[0].description }}", num_clusters=3).traits().reads == {"concept", "description"}


def test_a_chain_of_merges_is_no_matter_of_recursion():
    vectors = np.array([[2.0**i] for i in range(60)], np.float32)
    tree = ward_tree(np.concatenate([vectors, vectors * 3]))
    assert sorted(tree.rows_of(tree.roots[0])) == list(range(120))
    chain = Tree(5000, [(0, 1), *((i, 4998 + i) for i in range(2, 5000))], [float(i) for i in range(4999)], (9998,))
    assert len(chain.levels()) == 4999
    assert chain.rows_of(9998) == list(range(5000))
    assert collapse(chain, 0.5).rows_of(9998) == list(range(5000))
    assert [len(cut(chain, clusters=n).roots) for n in (1, 2, 4999, 5000, 6000)] == [1, 2, 4999, 5000, 5000]


def test_the_pipeline_of_docetls_page_runs(tmp_path, bench):
    write_jsonl(tmp_path / "c.jsonl", [{"concept": n, "description": f"{n} is a building"} for n in POINTS])
    operations = """
  - name: cluster_concepts
    type: cluster
    max_batch_size: 5
    embedding_model: text-embedding-3-small
    embedding_keys:
      - concept
      - description
    output_key: categories
    summary_schema:
      concept: str
      description: str
    summary_prompt: |
      The following describes two related concepts.

      {% for input in inputs %}
      {{input.concept}}:
      {{input.description}}
      {% endfor %}
"""
    loaded = pipeline(
        tmp_path / "c.jsonl",
        operations.replace(": str\n", ": string\n"),
        steps="[{name: all, input: records, operations: [cluster_concepts]}]",
    )
    desk = bench(lambda request: {"concept": "super", "description": "d"})
    first = desk.run_again(loaded)
    assert (len(desk.calls), result_of(desk, first)) == (4, {"distance", "concept", "description"})
    again = desk.run_again(loaded)
    assert (desk.calls, desk.csv(again)) == ([], desk.csv(first))


def result_of(desk, result):
    rows = desk.values(result)
    assert len(rows) == len(POINTS)
    return {key for row in rows for entry in row["categories"] for key in entry}

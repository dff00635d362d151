import pytest
from scripted_tools import ScriptedTools, rows_of, run, schema, values_of

from engine.code.program import Reading, problem_of, reading_of
from engine.errors import PipelineError
from engine.operators.code_filter import CodeFilter
from engine.operators.code_map import CodeMap
from engine.operators.code_reduce import CodeReduce
from engine.operators.running import LEAST_WAVE

KEYWORDS = """
def transform(doc) -> dict:
    keywords = doc['text'].lower().split()
    return {'keywords': keywords, 'keyword_count': len(keywords)}
"""  # DocETL's documented example
SHORT = "def transform(doc):\n    return doc['n'] < 3"
STATS = """
def transform(items) -> dict:
    total = sum(item['value'] for item in items)
    return {'total': total, 'average': total / len(items), 'count': len(items)}
"""  # DocETL's documented example


def code_map(code=KEYWORDS, **settings):
    return CodeMap(name="make", code=code, **settings)


async def test_code_map_adds_what_transform_returns():
    rows = rows_of({"id": 1, "text": "Good COP"}, {"id": 2, "text": ""})
    outcome = await run(code_map(), rows)
    assert values_of(outcome) == [
        {"id": 1, "text": "Good COP", "keywords": ["good", "cop"], "keyword_count": 2},
        {"id": 2, "text": "", "keywords": [], "keyword_count": 0},
    ]
    assert [r.parents for r in outcome.rows] == [(row.id,) for row in rows]


async def test_code_map_drops_keys_of_the_row_and_of_the_result():
    outcome = await run(code_map(drop_keys=("text", "keywords")), rows_of({"id": 1, "text": "a b"}))
    assert values_of(outcome) == [{"id": 1, "keyword_count": 2}]


async def test_a_row_whose_code_fails_fails_alone_with_the_line():
    rows = rows_of({"text": "a"}, {"text": None}, {"body": "b"})
    outcome = await run(code_map(), rows)
    assert len(outcome.rows) == 1
    assert [f.error for f in outcome.failed] == [
        f"operator 'make', row {rows[1].id}: AttributeError: 'NoneType' object has no attribute 'lower' "
        "(line 3: keywords = doc['text'].lower().split())",
        f"operator 'make', row {rows[2].id}: KeyError: 'text' (line 3: keywords = doc['text'].lower().split())",
    ]


async def test_code_map_with_a_limit_rejects_the_rows_after_it():
    rows = rows_of({"text": "a"}, {"text": "b"}, {"text": "c"})
    outcome = await run(code_map(limit=2), rows)
    assert [v["text"] for v in values_of(outcome)] == ["a", "b"]
    assert [(r.row, r.reason) for r in outcome.rejected] == [(rows[2], "code_map make: not taken, the limit is 2")]


async def test_code_filter_keeps_what_counts_as_true():
    code = "import re\ndef transform(doc):\n    return re.search('a', doc['t'])"
    rows = rows_of({"t": "cat"}, {"t": "dog"}, {"t": 3})
    outcome = await run(CodeFilter(name="keep", code=code), rows)
    assert values_of(outcome) == [{"t": "cat"}]
    assert [(r.row, r.reason) for r in outcome.rejected] == [
        (rows[1], "code_filter keep: transform returned nothing that counts as true")
    ]
    assert [f.row for f in outcome.failed] == [rows[2]]


async def test_code_filter_looks_at_rows_until_the_limit_is_reached():
    rows = rows_of(*({"n": n % 6} for n in range(LEAST_WAVE + 10)))
    outcome = await run(CodeFilter(name="keep", code=SHORT, limit=2), rows)
    assert [r.values["n"] for r in outcome.rows] == [0, 1]
    late = [r.row.values["n"] for r in outcome.rejected if "limit" in r.reason]
    assert len(late) == LEAST_WAVE // 6 * 3 + min(3, LEAST_WAVE % 6) - 2 + 10
    assert len(outcome.rejected) == len(rows) - 2


async def test_code_reduce_makes_a_row_per_group():
    rows = rows_of({"category": "a", "value": 2}, {"category": "b", "value": 5}, {"category": "a", "value": 4})
    outcome = await run(CodeReduce(name="sum", code=STATS, reduce_key="category"), rows)
    assert values_of(outcome) == [
        {"category": "a", "total": 6, "average": 3, "count": 2},
        {"category": "b", "total": 5, "average": 5, "count": 1},
    ]
    assert outcome.rows[0].parents == (rows[0].id, rows[2].id)


async def test_code_reduce_of_everything_and_of_nothing():
    node = CodeReduce(name="sum", code=STATS)
    assert values_of(await run(node, rows_of({"value": 1}, {"value": 2}))) == [{"total": 3, "average": 1.5, "count": 2}]
    assert values_of(await run(node, [])) == []


async def test_code_reduce_passes_the_first_row_s_fields_through_and_the_code_wins():
    code = "def transform(items):\n    return {'k': 'mine', 'n': len(items)}"
    rows = rows_of({"k": "a", "x": 1, "n": 9}, {"k": "a", "x": 2, "n": 9})
    outcome = await run(CodeReduce(name="r", code=code, reduce_key="k", pass_through=True), rows)
    assert values_of(outcome) == [{"k": "mine", "x": 1, "n": 2}]


async def test_code_reduce_with_a_limit_takes_the_smallest_groups():
    rows = rows_of(*({"k": k, "value": 1} for k in "aaabbc"))
    outcome = await run(CodeReduce(name="r", code=STATS, reduce_key="k", limit=2), rows)
    assert [v["k"] for v in values_of(outcome)] == ["b", "c"]
    assert [r.row for r in outcome.rejected] == rows[:3]


async def test_the_limit_of_code_reduce_is_not_used_up_by_rows_without_the_key():
    rows = rows_of({"value": 1}, {"value": 2}, *({"k": k, "value": 1} for k in "aab"))
    outcome = await run(CodeReduce(name="r", code=STATS, reduce_key="k", limit=1), rows)
    assert [v["k"] for v in values_of(outcome)] == ["b"]
    assert [f.row for f in outcome.failed] == rows[:2]
    assert [r.row for r in outcome.rejected] == rows[2:4]


async def test_a_group_that_fails_fails_all_its_rows():
    rows = rows_of({"k": "a", "value": 1}, {"k": "b", "value": "x"}, {"k": "b", "value": 1}, {"value": 1})
    outcome = await run(CodeReduce(name="r", code=STATS, reduce_key=("k",)), rows)
    assert [v["k"] for v in values_of(outcome)] == ["a"]
    assert {f.row.id for f in outcome.failed} == {row.id for row in rows[1:]}


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"code": "def transform(doc: return"}, "the code is no Python: .*line 1: def transform"),
        ({"code": "def make(doc): return {}"}, "defines no function transform"),
        ({"code": ""}, "defines no function transform"),
        ({"code": "async def transform(doc): pass"}, "transform is async"),
        ({"code": "\0"}, "the code cannot be read|the code is no Python"),
        ({"code": "x = " + "(" * 10_000}, "the code is no Python|the code cannot be read"),
        ({"code": "def transform(doc): return {}\nreturn 1"}, "'return' outside function .line 2: return 1"),
        ({"code": "def transform(doc):\n    break"}, "'break' outside loop .line 2: break"),
        ({"code": "def transform(doc):\n    await doc"}, "'await' outside async function .line 2: await doc"),
        ({"code": "def transform(doc, doc): pass"}, "duplicate argument 'doc' .*line 1: def transform"),
        ({"code": "def transform(doc):\n    x = 2\n    global x"}, "before global declaration .line 3: global x"),
        ({"code": "def transform(doc):\n    nonlocal y"}, "no binding for nonlocal 'y' found .line 2: nonlocal y"),
        ({"code": KEYWORDS, "limit": 0}, "limit must be at least 1, not 0"),
        ({"code": KEYWORDS, "concurrent_thread_count": 0}, "concurrent_thread_count must be at least 1"),
        ({"code": KEYWORDS, "timeout_seconds": 0}, "timeout_seconds must be above 0"),
        ({"code": KEYWORDS, "timeout_seconds": float("inf")}, "timeout_seconds must be above 0 and at most 1000000"),
        ({"code": KEYWORDS, "memory_bytes": 1000}, "memory_bytes must be at least"),
        ({"code": KEYWORDS, "memory_bytes": 10**30}, "memory_bytes must be at most"),
    ],
)
def test_bad_settings_are_refused(settings, message):
    with pytest.raises(PipelineError, match=message):
        CodeMap(name="make", **settings)


@pytest.mark.parametrize("key", [(), ("_all", "k")])
def test_bad_reduce_keys_are_refused(key):
    with pytest.raises(PipelineError, match="reduce_key|_all"):
        CodeReduce(name="r", code=STATS, reduce_key=key)


def test_reading_code_runs_nothing(tmp_path):
    mark = tmp_path / "ran"
    code = f"open({str(mark)!r}, 'w')\ndef transform(doc): return {{}}"
    assert not problem_of(code)
    code_map(code)
    assert not mark.exists()


@pytest.mark.parametrize(
    "code",
    [
        "transform = lambda doc: {}",
        "if True:\n    def transform(doc): return {}",
        "from json import loads as transform",
    ],
)
def test_a_transform_may_be_made_in_other_ways(code):
    assert not problem_of(code)


@pytest.mark.parametrize(
    ("line", "needed", "is_all"),
    [
        ("return {'a': doc['x'] + doc['y']}", {"x", "y"}, True),
        ("return {'a': doc['x'], 'b': doc.get('y')}", {"x"}, False),
        ("doc['new'] = doc['x']; return doc", {"x"}, False),
        ("doc['t'] = doc['x']; return {'t': doc['t']}", {"x"}, False),
        ("doc['t'] += 1; return {'t': doc['t']}", set(), False),
        ("doc = {'w': doc['x'], **doc}; return {'w': doc['w']}", set(), False),
        ("doc.update(t=doc['x']); return {'t': doc['t']}", set(), False),
        ("more(doc); return {'t': doc['t']}", set(), False),
        ("row = doc; row['t'] = 1; return {'t': doc['t']}", set(), False),
        ("del doc['x']; return {'n': len(doc), 'y': doc['y']}", set(), False),
        ("return {**doc}", set(), False),
        ("return {'a': doc['x'] if 'x' in doc else None}", set(), False),
        ("return {'a': 'x' in doc and doc['x']}", set(), False),
        ("return {'a': [doc['x'] for _ in doc['l']]}", set(), False),
    ],
)
def test_the_fields_that_code_surely_reads_are_known(line, needed, is_all):
    source = f"def transform(doc):\n    {line}"
    assert reading_of(source) == Reading(frozenset(needed), is_all=is_all)


@pytest.mark.parametrize(
    "code",
    [
        "import functools\n@functools.cache\ndef transform(doc): return {'a': doc['x']}",
        "def other(doc): return {}\ndef transform(doc): return {'a': doc['x']}\ntransform = other",
        "def transform(doc): return {'a': doc['x']}\nif True:\n    def transform(doc): return {}",
        "def transform(doc): return {'a': doc['x']}\nfrom json import loads as transform",
        "def transform(doc): return {'a': doc['x']}\nfrom json import *",
    ],
)
def test_nothing_is_known_of_the_fields_where_another_transform_may_be_called(code):
    assert reading_of(code) == Reading()


def test_traits():
    traits = code_map(
        "def transform(doc): return {'b': doc['a']}", schema=schema(b="string"), drop_keys=("a",)
    ).traits()
    assert (traits.reads, traits.writes, traits.removes) == ({"a"}, {"b"}, {"a"})
    assert (traits.runs_code, traits.opens, traits.calls_model, traits.row_local) == (True, True, False, True)
    assert CodeReduce(name="r", code=STATS, reduce_key="k").traits().keeps_others is False


async def test_the_seed_of_the_pipeline_decides_chance():
    code = "import random\ndef transform(doc):\n    return {'r': random.random()}"
    tools, other = ScriptedTools(), ScriptedTools()
    other.seed = 8
    first = values_of(await run(code_map(code), rows_of({}), tools))
    assert first == values_of(await run(code_map(code), rows_of({}), tools))
    assert first != values_of(await run(code_map(code), rows_of({}), other))

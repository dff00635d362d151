import json
import random
from pathlib import Path

import pytest
from ruamel.yaml import YAML
from scripted_tools import rows_of, run, values_of

from engine.errors import PipelineError
from engine.operators.gather import Chunk, ChunkedDocument, Gather, Header, render

FIXTURES = Path(__file__).parents[3] / "fixtures" / "gather"


@pytest.mark.parametrize("name", sorted(file.stem for file in FIXTURES.glob("*.yaml")))
async def test_samples_of_the_gather_page(name):
    case = json.loads(json.dumps(YAML(typ="safe").load((FIXTURES / f"{name}.yaml").read_text("utf-8"))))
    settings, chunks = case["settings"], case["chunks"]
    random.Random(1).shuffle(chunks)
    parts = (settings.get("peripheral_chunks") or {}).get("previous", {}).values()
    summary_key = next((p["content_key"] for p in parts if "summary" in p["content_key"]), "summary")
    rows = rows_of(
        *(
            {
                settings["doc_id_key"]: "one",
                settings["order_key"]: c["order"],
                settings["content_key"]: c.get("text", "x" * c.get("length", 0)),
                summary_key: c.get("summary", ""),
                "headers": c.get("headers", []),
            }
            for c in chunks
        )
    )
    outcome = await run(Gather(name="context", **settings), rows)
    main = next(i for i, c in enumerate(chunks) if c.get("main"))
    assert outcome.rows[main].values[f"{settings['content_key']}_rendered"] == case["rendered"].rstrip("\n")
    assert [r.parents for r in outcome.rows] == [(row.id,) for row in rows]


def gather(previous=None, after=None, **settings):
    sides = {k: v for k, v in (("previous", previous), ("next", after)) if v is not None}
    return Gather(name="g", content_key="t", doc_id_key="d", order_key="n", peripheral_chunks=sides, **settings)


def chunks(*texts, document="x"):
    return [{"d": document, "n": i, "t": text, "s": text[:1]} for i, text in enumerate(texts, 1)]


async def rendered(node, *values):
    outcome = await run(node, rows_of(*values))
    assert outcome.failed == []
    return [row.values["t_rendered"] for row in outcome.rows]


def main_chunk(text):
    return f"--- Begin Main Chunk ---\n{text}\n--- End Main Chunk ---"


async def test_whole_numbers_written_as_text_are_ordered_as_numbers():
    rows = [{**chunk, "n": str(chunk["n"])} for chunk in chunks(*"abcdefghijk")]
    made = await rendered(gather(previous={"tail": {"count": 1}}), *rows)
    assert "[Chunk 1] a" in made[1]
    assert "[Chunk 10] j" in made[10]


@pytest.mark.parametrize("orders", [("1.0", "2.0", "10.0"), ("1.5", "2", "10")])
async def test_numbers_with_a_point_written_as_text_are_ordered_as_numbers(orders):
    rows = [{**chunk, "n": order} for chunk, order in zip(chunks("a", "b", "c"), orders, strict=True)]
    made = await rendered(gather(previous={"tail": {"count": 1}}), *rows)
    assert "] b\n--- End Previous" in made[2]


async def test_chunks_without_a_text_are_nobodys_neighbours():
    rows = [{"d": None, "n": 1, "t": "Doc A"}, {"d": None, "n": 1, "t": "Doc B"}]
    outcome = await run(gather(previous={"tail": {"count": 1}}), rows_of(*rows))
    assert outcome.rows == []
    assert len(outcome.failed) == 2


async def test_the_lines_around_the_main_chunk_may_be_others():
    node = gather(main_chunk_start="<<", main_chunk_end=">>")
    assert await rendered(node, *chunks("one")) == ["<<\none\n>>"]


async def test_a_first_chunk_has_no_previous_context_and_documents_do_not_mix():
    texts = await rendered(gather({"tail": {}}), *chunks("a", "b"), *chunks("c", document="y"))
    assert texts == [
        main_chunk("a"),
        "--- Previous Context ---\n[Chunk 1] a\n--- End Previous Context ---\n\n" + main_chunk("b"),
        main_chunk("c"),
    ]


async def test_gaps_before_between_and_after_are_counted_in_characters():
    texts = await rendered(gather(after={"tail": {"count": 1}}), *chunks("a", "bb", "ccc", "d"))
    assert texts[0] == main_chunk("a") + (
        "\n\n--- Next Context ---\n[... 5 characters skipped ...]\n[Chunk 4] d\n--- End Next Context ---"
    )
    texts = await rendered(gather({"tail": {"count": 1}}), *chunks("a", "bb", "ccc", "d"))
    assert texts[3].startswith("--- Previous Context ---\n[... 3 characters skipped ...]\n[Chunk 3] ccc\n---")


@pytest.mark.parametrize(
    ("side", "lines"),
    [
        # Where head and tail overlap, the one nearer to the main chunk wins: tail before it, head after it.
        (
            {"head": {"count": 2, "content_key": "s"}, "tail": {"count": 2}},
            ["[Chunk 1 (Summary)] o", "[Chunk 2] two", "[Chunk 3] three"],
        ),
        (
            {"head": {"count": 9, "content_key": "s"}, "tail": {"count": 9}},
            ["[Chunk 1] one", "[Chunk 2] two", "[Chunk 3] three"],
        ),
    ],
)
async def test_ends_that_overlap_show_a_chunk_once(side, lines):
    texts = await rendered(gather(side), *chunks("one", "two", "three", "four"))
    assert texts[3].split("\n\n")[0].split("\n")[1:-1] == lines
    after = {"head": side["tail"], "tail": side["head"]}
    texts = await rendered(gather(after=after), *chunks("zero", "one", "two", "three"))
    assert "[Chunk 2] one" in texts[0]


class Counted(list):
    """A list that counts how often its items are looked at."""

    looks = 0

    def __getitem__(self, place):
        self.looks += 1 if isinstance(place, int) else len(range(len(self))[place])
        return super().__getitem__(place)

    def __iter__(self):
        self.looks += len(self)
        return super().__iter__()


def test_a_window_of_five_chunks_looks_at_five_chunks_however_many_there_are():
    """Linear in the chunks: all are looked at twice (lengths, headings), and five for each that is rendered."""
    node = gather({"head": {"count": 1}, "tail": {"count": 2}}, {"head": {"count": 1}}, doc_header_key="h")
    rows = rows_of(*chunks(*(f"text {number}" for number in range(2000))))
    made = Counted(Chunk(row, n, row.values["t"], (Header(f"H{n}", 1 + n % 3),)) for n, row in enumerate(rows, 1))
    document = ChunkedDocument(made)
    texts = [render(node, document, place) for place in range(2000)]
    assert made.looks <= 2 * 2000 + 2000 * (1 + 1 + 4)  # its headings, its text, and four neighbours
    # the texts 1 to 1996: 9 x 6 + 90 x 7 + 900 x 8 + 997 x 9 characters
    assert "[Chunk 1] text 0\n[... 16857 characters skipped ...]\n[Chunk 1998] text 1997" in texts[-1]


async def test_a_content_key_of_its_own_is_no_summary():
    texts = await rendered(gather({"middle": {"content_key": "t"}}), *chunks("one", "two"))
    assert "[Chunk 1] one" in texts[1]


async def test_a_chunk_without_headings_gets_the_whole_open_path():
    values = chunks("one", "two", "three")
    values[0]["h"] = [{"header": "A", "level": 1}, {"header": "B", "level": 2}]
    values[1]["h"] = [{"header": "## C", "level": 2}]
    values[2]["h"] = None
    texts = await rendered(gather(doc_header_key="h"), *values)
    assert [t.split("\n")[0] for t in texts] == [
        "_Current Section:_ # A",
        "_Current Section:_ # A > ## C",
        "_Current Section:_ # A > ## C",
    ]


async def test_bad_chunks_fail_and_leave_their_neighbours_alone():
    values = chunks("one", "two", "three", "four")
    values[0]["h"] = [{"header": "A", "level": 0}]
    values[1]["h"] = [{"header": "B", "level": 1}]
    values[2]["h"], values[3]["h"] = [], []
    values[2]["n"] = [3]
    outcome = await run(gather({"tail": {"count": 3}}, doc_header_key="h"), rows_of(*values))
    errors = [f.error.split(": ", 1)[1] for f in outcome.failed]
    assert errors == [
        "field 'n' is a list; chunks are ordered by numbers or text",
        "h[0] is not a heading: {'header': 'A', 'level': 0}",
    ]
    assert [r.values["n"] for r in outcome.rows] == [2, 4]
    assert "[Chunk 1] one\n[Chunk 2] two\n---" in outcome.rows[1].values["t_rendered"]
    assert outcome.rows[1].values["t_rendered"].startswith("_Current Section:_ # B\n")


async def test_a_neighbour_without_the_summary_is_named():
    values = chunks("one", "two")
    del values[0]["s"]
    outcome = await run(gather({"middle": {"content_key": "s"}}), rows_of(*values))
    assert "its neighbour, chunk 1, has no text in field 's'" in outcome.failed[0].error


@pytest.mark.parametrize(
    ("setting", "message"),
    [
        ({"prev": {}}, "peripheral_chunks has no 'prev'. Did you mean 'previous'\\?"),
        ({"previous": {"heads": {}}}, "peripheral_chunks.previous has no 'heads'. Did you mean 'head'"),
        ({"next": {"middle": {"count": 2}}}, "peripheral_chunks.next.middle has no 'count'"),
        ({"next": {"head": {"count": -1}}}, "next.head.count must be a number of chunks, 0 or more, not -1"),
        ({"next": {"head": {"count": True}}}, "not True"),
        ({"next": {"tail": {"content_key": 3}}}, "must be the name of a field, not 3"),
        ({"next": "all"}, "must be a mapping with head, middle, tail, not 'all'"),
    ],
)
def test_bad_settings_are_refused(setting, message):
    with pytest.raises(PipelineError, match=message):
        Gather(name="g", content_key="t", doc_id_key="d", order_key="n", peripheral_chunks=setting)


def test_traits_read_all_content_keys():
    traits = gather({"middle": {"content_key": "s"}, "tail": {}}, doc_header_key="h").traits()
    assert traits.reads == {"t", "d", "n", "s", "h"}
    assert (traits.writes, traits.row_local, traits.calls_model) == ({"t_rendered"}, False, False)


async def test_a_count_of_0_shows_none_and_a_fraction_is_rounded_down():
    rows = rows_of(*chunks("one", "two"))
    whole = values_of(await run(gather({"tail": {"count": 1}}), rows))
    for count in (0, 0.1):
        none = values_of(await run(gather({"tail": {"count": count}}), rows))
        assert "one" in whole[1]["t_rendered"]
        assert "one" not in none[1]["t_rendered"]
        assert "[... 3 characters skipped ...]" in none[1]["t_rendered"]

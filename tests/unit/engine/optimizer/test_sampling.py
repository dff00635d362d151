"""Drawing by size, rungs and enlarging: arithmetic."""

from __future__ import annotations

from collections import Counter

import pytest

from engine.loader import parse_pipeline
from engine.optimizer.build import FileDraw
from engine.optimizer.sampling import Sample, code_books, drawn, enlarged, joined_terms, row_characters, rungs
from engine.rows import Row


def row(name: str, size: int) -> Row:
    return Row.source("d", name, {"text": "x" * size})


def test_rows_are_drawn_in_proportion_to_their_size():
    rows = [row("small", 100), row("large", 300)]
    first = Counter(drawn(rows, seed)[0].values["text"] for seed in range(4000))
    # 300 of 400 characters: three quarters, and three standard deviations of 4000 draws are 2 %.
    assert abs(first["x" * 300] / 4000 - 0.75) < 0.02


def test_a_draw_depends_on_the_seed_and_on_each_row_alone():
    rows = [row(f"r{n}", 10 + n) for n in range(30)]
    assert drawn(rows, 1) == drawn(list(reversed(rows)), 1)
    assert drawn(rows, 1) != drawn(rows, 2)
    kept = [one for one in drawn([*rows, row("new", 20)], 1) if one in rows]
    assert kept == drawn(rows, 1)


@pytest.mark.parametrize(
    ("count", "expected"),
    [(1, (1,)), (3, (3,)), (5, (3, 5)), (8, (4, 8)), (10, (3, 5, 10)), (12, (3, 6, 12)), (24, (6, 12, 24))],
)
def test_rungs_halve_twice_down_to_three_rows(count, expected):
    assert rungs(count) == expected


@pytest.mark.parametrize(
    ("selectivity", "expected"),
    [(1.0, 8), (2.0, 8), (0.5, 16), (0.4, 20), (0.25, 32), (0.5 * 0.3, 32), (0.0, 32)],  # at most four times
)
def test_a_sample_grows_by_the_inverse_of_the_selectivity(selectivity, expected):
    assert enlarged(8, selectivity) == expected


def test_each_dataset_is_drawn_by_itself_and_short_rows_count_less():
    long = [row(f"a{n}", 1000) for n in range(20)]
    short = [row(f"b{n}", 10) for n in range(100)]
    sample = Sample.draw({"long": long, "short": short}, 0)
    assert {name: len(rows) for name, rows in sample.first(4).items()} == {"long": 4, "short": 20}
    assert sample.most() == 20
    assert sample.characters() == 20 * 1000 + 100 * 10
    assert sample.characters(4) == 4 * 1000 + 20 * 10


def test_the_size_of_a_row_is_that_of_its_texts():
    assert row_characters({"a": "four", "b": 12345, "c": None, "d": "xy"}) == 6
    assert row_characters({}) == 1


def test_of_a_large_folder_some_files_are_read_the_large_ones_rather(tmp_path):
    files = [tmp_path / f"{n:03}.txt" for n in range(100)]
    for number, file in enumerate(files):
        file.write_bytes(b"x" * (1000 if number < 20 else 10))
    draw = FileDraw(seed=0, rows=2, reviewed=[files[99]])
    chosen = draw(files)
    assert len(chosen) == 12
    assert files[99] in chosen
    assert chosen == sorted(chosen)
    # 20,000 of 20,800 bytes are in the large files.
    assert sum(file in files[:20] for file in chosen) >= 10
    read = sum(file.stat().st_size for file in chosen)
    assert draw.times == pytest.approx((20 * 1000 + 80 * 10) / read)


def test_a_small_folder_is_read_whole(tmp_path):
    files = [tmp_path / f"{n}.txt" for n in range(5)]
    for file in files:
        file.write_text("some text", encoding="utf-8")
    draw = FileDraw(seed=0, rows=8)
    assert draw(files) == files
    assert draw.times == 1.0


def test_the_rows_that_plans_are_tried_on_come_in_the_order_of_their_sizes():
    rows = [row(f"r{n}", 1000 - 10 * n) for n in range(20)]
    sample = Sample.draw({"d": rows}, 3, count=8)
    assert {one.id for one in sample.first(8)["d"]} == {one.id for one in drawn(rows, 3)[:8]}
    sizes = [row_characters(one.values) for one in sample.first(8)["d"]]
    assert sizes == sorted(sizes)
    # What people have judged comes first all the same.
    known = drawn(rows, 3)[10].id
    assert Sample.draw({"d": rows}, 3, first=[known], count=8).first(1)["d"][0].id == known


@pytest.mark.parametrize(("size", "expected"), [(5000, 8), (1500, 8), (1000, 12), (300, 40), (10, 40)])
def test_of_short_rows_more_are_tried(size, expected):
    sample = Sample.draw({"d": [row(f"r{n}", size) for n in range(100)]}, 0, count=8)
    assert sample.enough(8) == expected


def test_no_more_rows_are_tried_than_there_are():
    assert Sample.draw({"d": [row(f"r{n}", 10) for n in range(5)]}, 0, count=8).enough(8) == 5


JOIN = """
datasets: {{papers: {{type: folder, path: papers}}, terms: {{type: folder, path: terms}}}}
operations:
  - {{name: join, type: equijoin, comparison_prompt: "{{{{ left.text }}}} {{{{ right.text }}}}?"{more}}}
pipeline: {{steps: [{{name: all, operations: [join: {{left: papers, right: terms}}]}}{steps}]}}
"""
LIMIT = ", limit_comparisons: 9"


@pytest.mark.parametrize(
    ("more", "steps", "size", "expected"),
    [
        (LIMIT, "", 20, {"terms"}),
        (", blocking_threshold: 0.5", "", 20, {"terms"}),
        (", blocking_conditions: ['left.text == right.text']", "", 20, {"terms"}),
        ("", "", 20, set()),  # nothing bounds what a model is asked
        (LIMIT, "", 300, set()),  # no terms: they are nearly as long as the papers
        (LIMIT, ", {name: again, input: terms, operations: []}", 20, set()),
    ],
)
def test_terms_that_a_join_looks_up_are_all_there(more, steps, size, expected):
    plan = parse_pipeline(JOIN.format(more=more, steps=steps)).plan
    rows = {"papers": [row(f"p{n}", 1000) for n in range(9)], "terms": [row(f"t{n}", size) for n in range(70)]}
    books = code_books(plan, rows)
    assert books == expected
    assert joined_terms(plan, rows) == ({} if more or steps else {"terms": "papers"})
    sample = Sample.draw(rows, 1, books=books)
    assert [len(sample.first(4)[name]) for name in ("papers", "terms")] == [4, 70 if books else 20]
    assert sample.size == (9 if books else 79)
    assert sample.book_rows == ({one.id for one in rows["terms"]} if books else set())


def test_of_terms_that_are_all_compared_every_second_stands_in_the_documents():
    text = "Patient {} had an acute failure of the kidney. " * 20
    papers = [Row.source("p", f"p{n}", {"text": text.format(*[n] * 20)}) for n in range(3)]
    said = [Row.source("t", f"n{n}", {"term": f"Kidney FAILURE, acute {n % 3}"}) for n in range(10)]
    others = [Row.source("t", f"o{n}", {"term": f"nausea {n}"}) for n in range(200)]
    sample = Sample.draw({"papers": papers, "terms": [*others, *said]}, 1, count=3, terms={"terms": "papers"})
    first = [row.values["term"].startswith("Kidney") for row in sample.first(3)["terms"]]
    assert first == [True, False] * 7 + [True]

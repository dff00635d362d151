"""A corpus of another size, and machines from a file: arithmetic."""

from __future__ import annotations

import math
from pathlib import Path

import pytest
from typer.testing import CliRunner

from engine.cli.explain import read_machines
from engine.cli.main import app
from engine.errors import UsageError
from engine.estimate.flow import Guess
from engine.estimate.scale import (
    BYTES_PER_CALL,
    BYTES_PER_PAGE,
    BYTES_PER_ROW,
    Corpus,
    Machine,
    pages_of,
    scale_lines,
    scaled,
)
from engine.estimate.sources import Item, Source

MACHINE = '[[machine]]\nname = "box"\nprompt_per_second = 100\nsampled_per_second = 10\n'


def sources() -> dict[str, Source]:
    records = Source("records", [Item("a", {"text": 2695, "filename": 5}), Item("b", {"text": 895, "filename": 5})])
    return {"names": Source("names", [Item("x", {"name": 10})]), "records": records}


def test_documents_multiply_the_largest_dataset() -> None:
    grown = scaled(sources(), Corpus(documents=500))
    assert grown["names"] == sources()["names"]
    assert grown["records"].times == 250
    assert grown["records"].items[0].characters == {"text": 2695, "filename": 5}
    assert pages_of(grown, Corpus(documents=500)) == pytest.approx((3600 * 250 + 10) / 1800)


def test_pages_and_documents_lengthen_the_text() -> None:
    grown = scaled(sources(), Corpus(documents=10, pages=100))
    # 100 pages x 1,800 characters over 10 documents are 18,000 each; the sample's have 1,800.
    assert [item.characters["text"] for item in grown["records"].items] == [26_950, 8_950]
    assert grown["records"].times == 5
    assert "10 times as long" in grown["records"].assumed.replace("10.00", "10")


def test_pages_alone_take_more_documents_of_the_same_length() -> None:
    grown = scaled(sources(), Corpus(pages=20))
    assert grown["records"].times == 10  # 20 pages x 1,800 / 1,800 characters a document = 20 documents


def test_no_size_changes_nothing() -> None:
    assert scaled(sources(), Corpus()) == sources()
    assert scaled({}, Corpus(documents=4)) == {}


@pytest.mark.parametrize("size", [{"documents": 0}, {"pages": -1}])
def test_a_corpus_of_nothing_is_refused(size: dict[str, int]) -> None:
    with pytest.raises(UsageError, match=f"--{next(iter(size))}"):
        Corpus(**size)


def test_hours_are_work_by_rate_by_workers() -> None:
    machine = Machine("cluster", 100, 10, pages_per_second=2, workers=4, efficiency=0.5)
    assert machine.hours(7200 * 100, 7200 * 10, 7200 * 2) == pytest.approx((1, 1, 1))
    assert Machine("box", 100, 10).hours(360_000, 0, 99) == pytest.approx((0, 1, 0))


def test_lines_add_hours_and_bytes_up() -> None:
    known = Guess.known
    lines = list(
        scale_lines(
            [Machine("box", 100, 10, 1, note="slow")],
            calls=known(1000),
            read=Guess(0, 3_600_000, math.inf),
            sampled=known(36_000),
            rows=known(2000),
            pages=3600,
        )
    )
    assert lines[2].split() == ["box", "1.0", "10.0", "1.0", "12.0", "not", "known"]
    megabytes = (3600 * BYTES_PER_PAGE + 1000 * BYTES_PER_CALL + 2000 * BYTES_PER_ROW) / 1e6
    assert f"about {megabytes:,.1f} MB" in lines[3]
    assert lines[4] == "  box: slow"


def test_the_rates_of_the_documentation_can_be_read() -> None:
    machines = read_machines(Path(__file__).parents[4] / "docs" / "rates.toml")
    assert [machine.workers for machine in machines] == [1, 1, 1, 8]


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("", "no \\[\\[machine\\]\\]"),
        ("machine = 3", "no \\[\\[machine\\]\\]"),
        ("[[machine", "rates.toml"),
        (MACHINE.replace("100", "0"), "prompt_per_second must be a number above 0"),
        (MACHINE.replace("100", "true"), "prompt_per_second must be a number, not True"),
        (MACHINE.replace("100", "inf"), "prompt_per_second must be a number above 0"),
        (MACHINE.replace('"box"', "3"), "name must be text, not 3"),
        (MACHINE + "cores = 2", "unknown key 'cores'"),
        (MACHINE + "efficiency = 1.5", "efficiency is at most 1"),
        (MACHINE + "workers = 1.5", "workers must be a whole number, not 1.5"),
        ('[[machine]]\nname = "box"', "the key 'prompt_per_second' is missing"),
    ],
)
def test_a_bad_file_of_rates_is_named_with_what_is_wrong(tmp_path: Path, text: str, complaint: str) -> None:
    file = tmp_path / "rates.toml"
    file.write_text(text)
    with pytest.raises(UsageError, match=complaint):
        read_machines(file)


def test_a_missing_file_of_rates_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="No such file"):
        read_machines(tmp_path / "none.toml")


def test_explain_predicts_for_the_size_that_is_given(tmp_path: Path) -> None:
    (tmp_path / "rows.json").write_text('[{"text": "one"}, {"text": "two"}]')
    (tmp_path / "rates.toml").write_text(MACHINE)
    pipeline = tmp_path / "pipeline.yaml"
    pipeline.write_text(
        "datasets: {rows: {type: file, path: rows.json}}\n"
        'operations: [{name: ask, type: filter, prompt: "{{ input.text }}?", output: {schema: {keep: boolean}}}]\n'
        "pipeline:\n  steps: [{name: s, input: rows, operations: [ask]}]\n  output: {type: file, path: out.csv}\n"
    )
    sizes = ["--documents", "7000", "--rates", str(tmp_path / "rates.toml")]
    result = CliRunner().invoke(app, ["explain", str(pipeline), *sizes])
    assert result.exit_code == 0, result.output
    assert "7,000 rows" in result.output
    assert "7,000 replies" in result.output
    assert "box" in result.output

"""The benchmarks' own arithmetic: inputs that repeat, scores that know right from wrong, sizes of a trie."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path

import numpy as np
import pytest
import yaml
from inputs import make
from jobs import JOBS, job_of, write_work
from processes import Failed, run
from report import tables
from scoring import score
from side_by_side import Bench, Settings
from trie import trie_size

from engine.language.checks import check
from engine.loader import load_pipeline

BENCH = Path(__file__).resolve().parents[2] / "bench"


def perfect(job, gold):
    """Return the rows of a contestant that makes no mistake."""
    if job == "A":
        records = {i: [r for j, r in gold["pairs"] if j == i] for i in {i for i, _ in gold["pairs"]}}
        named = {o["id"]: f"{o['given']} {o['surname']}" for o in gold["officers"]}
        return [{"officer": named[i], "per_officer_lineage": [{"record": r} for r in rs]} for i, rs in records.items()]
    if job == "B":
        return [{"document": name, **answers} for name, answers in gold["answers"].items()]
    if job == "C":
        return [{"record": name} for name in gold["positive"]]
    if job == "D":
        return [{"addresses": gold["places"]}]
    return [{"mention": m, "name": f"person {i}"} for m, i in gold["clusters"].items()]


@pytest.mark.parametrize("job", "ABCDE")
def test_each_draw_has_other_rows_whose_right_answers_score_1(job):
    rows, gold = make(job, draw=1)
    assert rows != make(job)[0] and len(rows) == len(make(job)[0])
    assert score(job, perfect(job, gold), gold)["quality"] == 1


@pytest.mark.parametrize("job", "ABCDE")
def test_inputs_repeat_and_right_answers_score_1(job):
    rows, gold = make(job)
    assert (rows, gold) == make(job)
    assert score(job, perfect(job, gold), gold)["quality"] == 1.0


@pytest.mark.parametrize("job", "ABDE")
def test_no_answers_score_0(job):
    _, gold = make(job)
    assert score(job, [], gold)["quality"] == 0.0


def test_sizes_are_those_of_the_issue():
    assert [len(make(job)[0]) for job in "ABCDE"] == [24, 4, 60, 200, 500]
    assert len(make("B", documents=8)[0]) == 32
    assert len(make("B", prompts=4)[1]["answers"]["d000"]) == 32


def test_half_of_the_filter_s_records_are_true_so_keeping_all_scores_a_half():
    rows, gold = make("C")
    assert score("C", rows, gold)["quality"] == 0.5


def test_an_officer_with_two_rows_counts_once():
    gold = {"officers": [{"id": 1, "given": "Ada", "surname": "Roy"}], "pairs": [[1, "r1"], [1, "r2"]]}
    apart = [{"officer": name, "per_officer_lineage": [{"record": r}]} for name, r in (("A. Roy", "r1"), ("Roy", "r2"))]
    assert score("A", apart, gold)["recall"] == 0.5
    assert score("A", apart, gold)["precision"] == 0.5


def test_two_officers_in_one_row_are_one_right_and_one_wrong():
    officers = [{"id": i, "given": given, "surname": "Roy"} for i, given in enumerate(("Ada", "Bea"))]
    gold = {"officers": officers, "pairs": [[0, "r1"], [1, "r2"]]}
    merged = [{"officer": "Ada Roy", "per_officer_lineage": [{"record": "r1"}, {"record": "r2"}]}]
    assert score("A", merged, gold) == {"quality": 0.5, "precision": 0.5, "recall": 0.5}


@pytest.mark.parametrize(
    ("told", "answer", "right"),
    [
        ("The finding is: not sustained.", "not sustained", True),
        ("not sustained", "sustained", False),
        ("sustained", "not sustained", False),
        ("Badge 4411", "4411", True),
        ("44110", "4411", False),
        ("one of the following many words 4411", "4411", False),
    ],
)
def test_an_answer_is_right_if_it_says_gold_and_little_else(told, answer, right):
    gold = {"answers": {"d": {"q0": answer}}}
    assert score("B", [{"document": "d", "q0": told}], gold)["quality"] == float(right)


def test_all_mentions_under_one_name_recall_everything_with_little_precision():
    _, gold = make("E")
    measures = score("E", [{"mention": m, "name": "x"} for m in gold["clusters"]], gold)
    assert measures["recall"] == 1.0
    assert measures["precision"] < 0.05


def test_a_trie_counts_what_prompts_begin_with_once():
    prompts = [np.array(p, np.int32) for p in ([1, 2, 3], [1, 2, 4, 5], [1, 2, 3], [9])]
    assert trie_size(prompts) == 6  # 1 2 3, then 4 5 behind 1 2, then 9
    assert trie_size([]) == 0


@pytest.mark.parametrize("letter", "ABCDE")
def test_pipelines_have_no_problems(letter, tmp_path):
    work = write_work(job_of(letter), tmp_path, prompts=2, quick=True)
    loaded = load_pipeline(work.pipeline)
    assert [p for p in check(loaded.plan, positions=loaded.positions) if p.severity == "error"] == []


def test_a_contestant_that_fails_is_told_by_its_last_line(tmp_path):
    with pytest.raises(Failed, match="exit code 3: out of luck"):
        run([sys.executable, "-c", "print('out of luck'); raise SystemExit(3)"], seconds=60, log=tmp_path / "log")


def lotus_run():
    """Import the script that runs LOTUS; it imports LOTUS itself only when it runs."""
    spec = importlib.util.spec_from_file_location("lotus_run", BENCH / "peers" / "lotus_run.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_lotus_is_asked_with_the_words_and_the_form_of_our_pipelines():
    peer = lotus_run()
    bodies = {job: yaml.safe_load((BENCH / "pipelines" / f"{job}.yaml").read_text()) for job in "ABDE"}
    operations = {job: {o["name"]: o for o in body["operations"]} for job, body in bodies.items()}
    listed = operations["A"]["list_officers"]
    assert "{text}" in peer.instruction(listed["prompt"])
    [properties] = [peer.response_format(listed["output"]["schema"])["json_schema"]["schema"]["properties"]]
    assert properties["officers"]["items"]["required"] == ["officer", "act"]
    assert "What records say of {officer}:\n{act}\n" in peer.looped(operations["A"]["per_officer"]["prompt"])
    assert "{name}" in peer.looped(operations["E"]["same_officer"]["resolution_prompt"])
    assert peer.json_schema("list[string, 24]") == {"type": "array", "items": {"type": "string"}, "maxItems": 24}
    kinds = {o["type"] for named in operations.values() for o in named.values()}
    assert kinds <= set(peer.OPERATORS)


def test_every_job_names_its_peers(tmp_path):
    named = Settings(out=tmp_path, jobs="ABCDE", docetl=Path("d"), lotus=Path("l"), server=Path("s"))
    run_by = {(task.job.letter, task.contestant) for task in Bench(named).tasks()}
    assert run_by == {(job, who) for job in "ABCDE" for who in ("ours", "docetl", "lotus")}


def test_a_contestant_that_hangs_is_ended(tmp_path):
    with pytest.raises(Failed, match="longer than 1 s"):
        run([sys.executable, "-c", "import time; time.sleep(600)"], seconds=1, log=tmp_path / "log")


def test_the_report_says_who_failed_and_how_much_faster_ours_is():
    plain = {"job": "C", "documents": 1, "prompts": 1, "repeat": 1}
    cost = {"peak_bytes": 2e9, "quality": {"quality": 0.9}}
    results = [
        {**plain, **cost, "contestant": "ours", "seconds": 10.0, "floor_seconds": 8.0, "floor_ratio": 1.25},
        {**plain, **cost, "contestant": "docetl-8", "seconds": 25.0},
        {**plain, "contestant": "lotus-8", "error": "took longer than 5 s"},
        {**plain, **cost, "contestant": "ours", "seconds": 1.0, "draw": 1, "quality": {"quality": 0.5}},
    ]
    body = {
        "began": "2026-11-21T10:00:00",
        "machine": {"cpu": "x", "cores": 2},
        "settings": {"model": "m"},
        "results": results,
    }
    text = tables(body)
    assert "| C | docetl-8 | 25.0 |" in text
    assert "2.50 x" in text
    assert "failed: took longer than 5 s" in text
    assert "| C | ours | 2 | 0.700 | 0.500 to 0.900 | 0.90; 0.50 |" in text


def test_the_report_gives_precision_and_recall_of_each_draw():
    cost = {"job": "G", "documents": 1, "prompts": 1, "contestant": "ours", "seconds": 1.0, "peak_bytes": 1e9}
    measures = [{"quality": 0.8, "precision": 1.0, "recall": 2 / 3}, {"quality": 0.0, "precision": 0.0, "recall": 0.0}]
    body = {
        "began": "2026-11-24T10:00:00",
        "machine": {"cpu": "x", "cores": 2},
        "settings": {"model": "m"},
        "results": [{**cost, "draw": draw, "quality": measure} for draw, measure in enumerate(measures)],
    }
    text = tables(body)
    assert "| G | ours | 2 | 0.400 | 0.000 to 0.800 | 0.80 (1.00 / 0.67); 0.00 (0.00 / 0.00) |" in text


def test_ours_is_run_in_the_layouts_that_are_asked_for_beside_its_own(tmp_path):
    bench = Bench(Settings(out=tmp_path, jobs="F", draws=2, layouts="one_line,fenced"))
    runs = [(task.name, task.draw) for task in bench.tasks()]
    assert runs == [(name, draw) for draw in (0, 1) for name in ("ours", "ours-one_line", "ours-fenced")]


def test_every_job_has_a_pipeline():
    assert sorted(p.stem for p in (BENCH / "pipelines").glob("*.yaml")) == [job.letter for job in JOBS]

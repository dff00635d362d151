from pathlib import Path

import pytest

from storage.case import Case
from storage.errors import NotInCase
from storage.rows import RowRecord


def test_a_run_is_kept_with_what_made_it(case: Case, run_id: str) -> None:
    run = case.runs.get(run_id)
    assert (run.pipeline_yaml, run.pipeline_digest, run.model_name) == ("operations: []", "p1", "tiny")
    assert run.settings == {"seed": 7}
    assert (run.status, run.finished_at) == ("running", None)
    case.runs.finish(run_id, "finished")
    assert case.runs.get(run_id).status == "finished"
    assert case.runs.get(run_id).finished_at is not None


def test_runs_in_order_and_the_latest(case: Case) -> None:
    assert case.runs.latest() is None
    first, second = (case.runs.start(pipeline_yaml="", pipeline_digest=d, model_name="") for d in ("p1", "p2"))
    assert [run.id for run in case.runs.all()] == [first, second]
    assert case.runs.latest().id == second
    assert case.runs.latest("p1").id == first
    assert case.runs.latest("p3") is None
    assert case.runs.latest_delivered() is None
    case.runs.save_results(first, ["officer"], [])
    assert case.runs.latest_delivered().id == first


def test_an_unknown_run_is_named(case: Case, run_id: str) -> None:
    with pytest.raises(NotInCase, match="no run 7") as caught:
        case.runs.finish("7", "finished")
    assert "Runs in it: 1" in caught.value.advice


def test_a_run_left_running_is_interrupted_and_can_be_taken_up(tmp_path: Path) -> None:
    path = tmp_path / "c.redwell"
    with Case(path) as case:
        run_id = case.runs.start(pipeline_yaml="", pipeline_digest="", model_name="")
        with Case(path, read_only=True) as reader:
            assert reader.runs.get(run_id).status == "running"
    with Case(path, read_only=True) as reader:
        assert reader.runs.get(run_id).status == "interrupted"
    with Case(path) as case:
        assert case.runs.get(run_id).status == "interrupted"
        case.runs.finish(run_id, "running")
        assert case.runs.get(run_id).status == "running"


def test_results_are_ordered_and_replaced(case: Case, run_id: str) -> None:
    assert case.runs.results(run_id) is None
    case.rows.save(run_id, "map", [RowRecord(i, {}) for i in "abc"])
    case.runs.save_results(run_id, ["name", "date"], ["c", "a"])
    assert case.runs.results(run_id).columns == ("name", "date")
    assert case.runs.results(run_id).row_ids == ("c", "a")
    case.runs.save_results(run_id, ["name"], [])
    assert case.runs.results(run_id).row_ids == ()
    with pytest.raises(NotInCase, match="no row zz"):
        case.runs.save_results(run_id, ["name"], ["a", "zz"])
    assert case.runs.results(run_id).row_ids == ()


def test_many_rows_are_found_in_the_results_by_one_reading(case: Case, run_id: str, monkeypatch) -> None:
    ids = [f"r{n}" for n in range(100)]
    case.rows.save(run_id, "map", [RowRecord(id, {}) for id in ids])
    case.runs.save_results(run_id, ["name"], ids)
    asked: list[str] = []
    for name in ("first", "query"):
        ask = getattr(case._connection, name)
        monkeypatch.setattr(case._connection, name, lambda sql, given=(), ask=ask: asked.append(sql) or ask(sql, given))
    assert case.result_rows.numbers(run_id, ids[::-1]) == list(range(99, -1, -1))
    assert len(asked) == 1
    for some in (["r5", "r7"], [*ids, "r5"]):
        assert case.result_rows.numbers(run_id, some)[-1] == int(some[-1][1:])
        with pytest.raises(NotInCase, match="row none is no result"):
            case.result_rows.numbers(run_id, [*some, "none"])
    with pytest.raises(NotInCase, match="no run 77"):
        case.result_rows.numbers("77", ids)

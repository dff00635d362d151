from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from storage.case import Case
from storage.errors import BadRecord, NotInCase
from storage.rows import RowRecord

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=5), inner, max_size=4),
    max_leaves=10,
)


def test_rows_come_back_in_order_with_parents_and_place(case: Case, run_id: str, letter: str) -> None:
    chunk = RowRecord("c2", {"text": "long " * 500, "n": 1}, ("d1",), letter, 2, 4)
    case.rows.save(run_id, "split", [chunk, RowRecord("c1", {"b": 1, "a": 2}, ("d1", "d0"))])
    assert case.rows.of_operator(run_id, "split") == [chunk, RowRecord("c1", {"b": 1, "a": 2}, ("d1", "d0"))]
    assert list(case.rows.get(run_id, "c1").values) == ["b", "a"]
    assert case.rows.of_operator(run_id, "unheard of") == []


def test_saving_again_leaves_exactly_the_given_rows(case: Case, run_id: str) -> None:
    first = [RowRecord(i, {"v": i}) for i in "abc"]
    case.rows.save(run_id, "map", first)
    case.rows.save(run_id, "map", first)
    assert case.rows.of_operator(run_id, "map") == first
    case.rows.save(run_id, "map", [RowRecord("c", {"v": "new"}), RowRecord("a", {"v": "a"})])
    assert [(r.id, r.values["v"]) for r in case.rows.of_operator(run_id, "map")] == [("c", "new"), ("a", "a")]


def test_a_row_that_a_filter_lets_through_belongs_to_both_operators(case: Case, run_id: str) -> None:
    case.rows.save(run_id, "map", [RowRecord("a", {"v": 1}), RowRecord("b", {"v": 2})])
    case.rows.save(run_id, "filter", [RowRecord("b", {"v": 2, "kept": True})])
    assert case.rows.get(run_id, "b").values == {"v": 2, "kept": True}
    assert [r.id for r in case.rows.of_operator(run_id, "map")] == ["a", "b"]


def test_a_row_is_found_without_reading_the_others(case: Case, run_id: str, monkeypatch) -> None:
    """With thousands of results, one scan each takes minutes."""
    case.rows.save(run_id, "map", [RowRecord(str(n), {"v": n}) for n in range(300)])
    asked: list[tuple[str, list]] = []
    query = case._connection.query

    def noting(sql, given=()):
        asked.append((sql, given))
        return query(sql, given)

    monkeypatch.setattr(case._connection, "query", noting)
    assert case.rows.get(run_id, "7").values == {"v": 7}
    steps = [step[-1] for sql, given in asked for step in query(f"EXPLAIN QUERY PLAN {sql}", given)]
    assert [step for step in steps if "SCAN" in step or step.endswith("(operator=?)")] == []


def test_lineage_is_walked_each_row_once(case: Case, run_id: str, letter: str) -> None:
    case.rows.save(run_id, "load", [RowRecord("d", {}, (), letter, 1, 5)])
    case.rows.save(run_id, "split", [RowRecord("s1", {}, ("d",)), RowRecord("s2", {}, ("d",))])
    case.rows.save(run_id, "reduce", [RowRecord("r", {}, ("s2", "s1", "d"))])
    ancestors = case.rows.ancestors(run_id, "r")
    assert {(a.id, a.operator) for a in ancestors} == {("s1", "split"), ("s2", "split"), ("d", "load")}
    assert next(a for a in ancestors if a.id == "d").document_id == letter
    assert case.rows.ancestors(run_id, "d") == []


def test_a_long_chain_and_an_unsaved_parent(case: Case, run_id: str) -> None:
    case.rows.save(run_id, "chain", [RowRecord(f"n{i}", {}, (f"n{i - 1}",)) for i in range(1, 60)])
    found = case.rows.ancestors(run_id, "n59")
    assert [r.id for r in found] == [f"n{59 - k}" for k in range(1, 60)]
    assert found[-1].operator == ""


def test_a_diamond_of_many_generations_is_walked_quickly(case: Case, run_id: str) -> None:
    # Each generation has two rows with both rows before as parents: 2^40 ways, 80 rows.
    rows = [RowRecord(f"{side}{g}", {}, (f"a{g - 1}", f"b{g - 1}") if g else ()) for g in range(40) for side in "ab"]
    case.rows.save(run_id, "fold", rows)
    assert len(case.rows.ancestors(run_id, "a39")) == 78


def test_runs_do_not_mix(case: Case, run_id: str) -> None:
    other = case.runs.start(pipeline_yaml="", pipeline_digest="", model_name="")
    case.rows.save(run_id, "map", [RowRecord("a", {"v": 1}, ("x",))])
    case.rows.save(other, "map", [RowRecord("a", {"v": 2}, ("y",))])
    assert case.rows.get(run_id, "a").values == {"v": 1}
    assert [r.id for r in case.rows.ancestors(other, "a")] == ["y"]


def test_impossible_rows_are_refused(case: Case, run_id: str) -> None:
    with pytest.raises(BadRecord, match="two rows with the id a"):
        case.rows.save(run_id, "map", [RowRecord("a", {}), RowRecord("a", {})])
    with pytest.raises(BadRecord, match="its own parent"):
        case.rows.save(run_id, "map", [RowRecord("a", {}, ("a",))])
    with pytest.raises(NotInCase, match="no document"):
        case.rows.save(run_id, "map", [RowRecord("a", {}, (), "0" * 64)])
    assert case.rows.of_operator(run_id, "map") == []
    with pytest.raises(NotInCase, match="no row a"):
        case.rows.get(run_id, "a")


def test_a_large_field_is_stored_once(tmp_path: Path) -> None:
    noise = "".join(chr(0x4E00 + (i * 7919) % 20000) for i in range(100_000))
    with Case(tmp_path / "c.redwell") as case:
        run_id = case.runs.start(pipeline_yaml="", pipeline_digest="", model_name="")
        for operator in range(20):
            case.rows.save(run_id, f"op{operator}", [RowRecord(f"r{operator}", {"text": noise, "n": operator})])
        assert case.rows.get(run_id, "r7").values == {"text": noise, "n": 7}
    # 300,000 bytes once, not twenty times
    assert (tmp_path / "c.redwell").stat().st_size < 2 * 300_000


def test_rows_share_a_large_field_and_other_fields_are_left_out(case: Case, run_id: str) -> None:
    text = "x" * 3000
    case.rows.save(run_id, "split", [RowRecord(f"r{n}", {"text": text, "n": n}) for n in range(3)])
    first, *others = case.rows.of_operator(run_id, "split")
    assert first.values["text"] == text
    assert all(row.values["text"] is first.values["text"] for row in others)
    assert case.rows.get(run_id, "r1", only=("n", "none")).values == {"n": 1}
    assert case.rows.get(run_id, "r1", only=["text"]).values == {"text": text}


@given(st.dictionaries(st.text(max_size=6), JSON, max_size=5), st.text(min_size=600, max_size=700))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=40)
def test_any_json_values_survive(case: Case, run_id: str, values: dict, large: str) -> None:
    case.rows.save(run_id, "map", [RowRecord("a", {**values, "large": large})])
    assert case.rows.get(run_id, "a").values == {**values, "large": large}

"""compute: fields in order, what they rest on, rows that fail, rates from a file."""

import pytest
from scripted_tools import rows_of, run, values_of

from engine.errors import PipelineError
from engine.language.binding import bind
from engine.language.checks import check
from engine.language.position import Where
from engine.language.writer import to_yaml
from engine.loader import parse_pipeline
from engine.operators.compute import Compute
from engine.values.rates import read_rates
from engine.values.registry import value_type

USD = {"from": "USD", "to": "EUR", "rate": 0.5, "date": "2024-03-15", "source": "made up"}
CSV = "from,to,rate,date,source\nUSD,EUR,0.5,2024-03-15,made up\n"
PIPELINE = """
datasets: {contracts: {type: file, path: contracts.csv}}
operations:
  - {name: c, type: compute, fields: {euros: 'convert(input.fee, "EUR")'}, rates: RATES}
pipeline: {steps: [{name: s, input: contracts, operations: [c]}]}
"""


def compute(**keys):
    return bind(Compute, {"name": "c", **keys}, Where())


async def test_each_field_sees_those_before_it_and_says_what_it_rests_on():
    node = compute(fields={"euros": 'convert(input.fee, "EUR")', "year": "output.euros.value * 12"}, rates=[USD])
    fee = value_type("amount").cell("USD 30")
    (row,) = values_of(await run(node, rows_of({"fee": fee})))
    assert row["euros"] == {**fee, "value": 15, "currency": "EUR"}
    assert row["year"] == 180
    assert row["euros_basis"]["rates"] == [{**USD, "inverse": False}]
    assert row["year_basis"] == {"expression": "output.euros.value * 12", "rates": [], "reason": None}


async def test_null_goes_through_and_an_error_fails_its_row_alone():
    node = compute(fields={"twice": "input.n * 2"}, basis=True)
    outcome = await run(node, rows_of({"n": 2}, {"n": None}, {"n": "x"}))
    rows = values_of(outcome)
    assert [row["twice"] for row in rows] == [4, None]
    assert rows[1]["twice_basis"]["reason"] == "input.n is null"
    (failed,) = outcome.failed
    assert "operator 'c'" in failed.error
    assert "twice: input.n * 2 cannot be computed" in failed.error


def test_traits_name_what_is_read_of_the_row_and_written():
    traits = compute(fields={"a": "output.x + 1", "b": "output.a + input.y"}, basis=False).traits()
    assert (traits.reads, traits.writes) == ({"x", "y"}, {"a", "b"})
    assert not traits.calls_model
    assert compute(fields={"a": "input.x"}).written_fields() == ("a", "a_basis")


def test_a_field_may_have_the_word_basis_within_its_name():
    node = compute(fields={"cost_basis_usd": "input.n * 2"})
    assert node.written_fields() == ("cost_basis_usd", "cost_basis_usd_basis")


async def test_a_field_may_read_what_one_before_it_rests_on():
    node = compute(fields={"twice": "input.n * 2", "why": "output.twice_basis.reason"})
    assert node.traits().reads == {"n"}
    rows = values_of(await run(node, rows_of({"n": 2}, {"n": None})))
    assert [row["why"] for row in rows] == [None, "input.n is null"]
    without = compute(fields={"a": "input.x", "b": "output.a_basis.reason"}, basis=False)
    assert without.traits().reads == {"x", "a_basis"}


def test_rates_of_a_file_become_part_of_the_plan(tmp_path):
    (tmp_path / "rates.csv").write_text(CSV, encoding="utf-8")
    loaded = parse_pipeline(PIPELINE.replace("RATES", "rates.csv"), directory=tmp_path)
    (node,) = loaded.plan.operators
    assert [(r.base, r.to, r.rate, r.source) for r in node.rates] == [("USD", "EUR", 0.5, "made up")]
    assert parse_pipeline(to_yaml(loaded.plan)).plan == loaded.plan


@pytest.mark.parametrize(
    ("table", "message"),
    [
        ("from,to,rate,date\nUSD,EUR,1,2024-01-01\n", "no column source"),
        (CSV + "JPY,EUR,x,2024-03-15,ECB\n", "line 3: 'x' is no number"),
        (CSV + "JPY,EUR,0,2024-03-15,ECB\n", "line 3: the rate from JPY to EUR is a number above 0"),
        (CSV + "JPY,EUR,NaN,2024-03-15,ECB\n", "line 3: the rate from JPY to EUR is a number above 0"),
        (CSV + "JPY,EUR,1,15 March,ECB\n", "line 3: the date of a rate"),
        (CSV + "JPY,EUR,1,2024-03-15,\n", "line 3: a rate needs"),
    ],
)
def test_a_wrong_table_of_rates_is_an_error_with_its_line(tmp_path, table, message):
    (tmp_path / "rates.csv").write_text(table, encoding="utf-8")
    with pytest.raises(PipelineError, match=message):
        parse_pipeline(PIPELINE.replace("RATES", "rates.csv"), directory=tmp_path)


def test_a_table_of_rates_is_read_as_it_is_written(tmp_path):
    (tmp_path / "rates.csv").write_text(CSV, encoding="utf-8-sig")
    assert read_rates(tmp_path / "rates.csv") == [USD]


@pytest.mark.parametrize(
    ("keys", "message"),
    [
        ({"fields": {}}, "compute has no fields"),
        ({"fields": {"a": "1", "a_basis": "2"}}, "name of another one's basis"),
        ({"fields": {"a": "import os"}}, "is no expression"),
        ({"fields": {"a": "convrt(input.x, 'EUR')"}}, "unknown function 'convrt'"),
    ],
)
def test_what_cannot_be_computed_is_refused_when_it_is_read(keys, message):
    with pytest.raises(PipelineError, match=message):
        compute(**keys)


def test_a_part_that_a_type_has_not_is_found_before_the_run():
    loaded = parse_pipeline("""
datasets: {contracts: {type: folder, path: .}}
operations:
  - {name: m, type: map, prompt: "{{ input.text }}", output: {schema: {fee: amount?}}, validate: output.fee.vale > 0}
  - {name: c, type: compute, fields: {year: input.fee.amount * 12, euros: input.fee.value}}
pipeline: {steps: [{name: s, input: contracts, operations: [m, c]}]}
""")
    problems = check(loaded.plan, positions=loaded.positions)
    assert [(p.operator, p.line) for p in problems] == [("m", 4), ("c", 5)]
    assert "reads 'amount' of 'fee', which is of type amount" in problems[1].message
    assert "value, currency, unit, original, problem" in problems[1].advice

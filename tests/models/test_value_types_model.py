"""The smallest model copies typed values, code reads them; the figures stand in the made-up contract."""

from __future__ import annotations

import pytest
from real_model import real_model, run_on_real_model, shared_model
from scripted_run import pipeline, write_jsonl

from storage.case import Case

pytestmark = pytest.mark.model

CONTRACT = (
    "SERVICES AGREEMENT. This Agreement is made on the 3rd day of March, 2019. The Client shall pay the Contractor"
    " a fee of US$ 25,000 per month. Signed for the Contractor: Daniel R. Alvarez."
)
MAP = """
  - name: m
    type: map
    agree: 2
    prompt: "Extract from this contract the fee, the day it was made and who signed it.\\n\\n{{ input.text }}"
    output: {schema: {fee: amount, made: date(), signer: person}}
"""


def test_a_small_model_copies_and_code_reads(tmp_path):
    source = write_jsonl(tmp_path / "contracts.jsonl", [{"text": CONTRACT}])
    with Case(tmp_path / "case.redwell") as case, shared_model(real_model(), context_tokens=2048) as model:
        loaded = pipeline(source, MAP, steps="[{name: all, input: records, operations: [m]}]")
        result = run_on_real_model(loaded, case, model)
        (row,) = [case.rows.get(result.run_id, id).values for id in case.runs.results(result.run_id).row_ids]
    read = {
        "fee": (row["fee"]["value"], row["fee"]["currency"]) == (25000, "USD"),
        "made": row["made"]["iso"] == "2019-03-03",
        "signer": row["signer"]["last"] == "Alvarez",
    }
    assert sum(read.values()) >= 2, row  # the smallest model leaves out the currency
    assert all(row[name]["original"] for name in read)
    assert all(0 < found["share"] <= 1 for found in row["_m_agreement"].values())

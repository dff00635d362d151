"""The scores are checked against numbers worked out by hand."""

import json
from pathlib import Path

import pytest

from engine.errors import UsageError
from engine.evaluation import Gold, Score, located, predicted_pairs, score
from storage.case import Case
from storage.documents import LineRecord
from storage.evidence import EvidenceRecord
from storage.rows import RowRecord

POLICE = Path(__file__).parents[3] / "examples" / "police" / "gold.json"


def test_the_sample_case_has_fifteen_pairs() -> None:
    gold = Gold.read(POLICE)
    assert len(gold.pairs) == 15
    assert gold.pages[("01_opr_findings_2022-0147.pdf", "brandmoor")]


@pytest.mark.parametrize(
    ("name", "files", "officer"),
    [
        ("Sgt. D. Varrick", ["01_opr_findings_2022-0147.pdf"], "varrick-d"),
        ("VARRICK, CORINNE", ["01_opr_findings_2022-0147.pdf"], "varrick-c"),
        ("Officer Varrick #4417", ["04_incident_report_22-008831.pdf"], "varrick-c"),
        ("Leah Prentisse", ["05_suspension_notice_2019.pdf"], "ombaku"),
        ("Ambrose Teller", ["06_complaint_disposition_2020-118.pdf"], "Ambrose Teller?"),
        ("Whitlock", ["06_complaint_disposition_2020-118.pdf"], "whitlocke"),
    ],
)
def test_a_name_means_the_officer_who_bears_it(name: str, files: list[str], officer: str) -> None:
    assert Gold.read(POLICE).officer(name, files) == officer


def test_a_cell_claims_whom_it_names() -> None:
    gold = Gold.read(POLICE)
    file = "01_opr_findings_2022-0147.pdf"
    assert gold.claimed("Sgt. D. Varrick", [file]) == [(file, "varrick-d")]
    typed = {"original": "Sgt. D. Varrick", "problem": None, "last": "Varrick", "first": "D."}
    assert gold.claimed(["Officer K. Brandmoor", None, "", typed], [file]) == [(file, "brandmoor"), (file, "varrick-d")]
    unread = {"original": None, "problem": "nothing was written", "last": None}
    assert [gold.claimed(nobody, [file]) for nobody in (None, "", [], " ", unread)] == [[]] * 5


def test_a_score_counts_right_wrong_and_missing() -> None:
    result = score([("a", "x"), ("a", "y"), ("b", "x")], frozenset({("a", "x"), ("b", "x"), ("c", "z"), ("d", "z")}))
    assert result == Score(2, (("a", "y"),), (("c", "z"), ("d", "z")))
    assert (result.precision, result.recall) == (pytest.approx(2 / 3), pytest.approx(1 / 2))
    assert result.f1 == pytest.approx(4 / 7)


def test_no_prediction_is_precise_and_recalls_nothing() -> None:
    result = score([], frozenset({("a", "x")}))
    assert (result.precision, result.recall, result.f1) == (1.0, 0.0, 0.0)


def test_pairs_and_places_are_read_from_a_case(tmp_path: Path) -> None:
    gold = Gold.read(POLICE)
    file = "01_opr_findings_2022-0147.pdf"
    with Case(tmp_path / "a.redwell") as case:
        case.documents.save(
            "d" * 64,
            filename=file,
            kind="pdf",
            size_bytes=1,
            page_count=3,
            body={},
            lines=[LineRecord(1, 1, "Ofc. K. Brandmoor #3981"), LineRecord(2, 1, "Officer Benno Castellari")],
        )
        case.documents.add_path("d" * 64, f"/records/{file}")
        run = case.runs.start(pipeline_yaml="", pipeline_digest="p", model_name="")
        case.rows.save(run, "made", [RowRecord("r0", {}, document_id="d" * 64)])
        case.rows.save(run, "grouped", [RowRecord("r1", {"officer": "Officer K. Brandmoor", "act": "x"}, ("r0",))])
        case.runs.save_results(run, ["officer", "act"], ["r1"])
        page = next(iter(gold.pages[(file, "brandmoor")]))
        assert page != 1
        places = [
            ("act", page, 1),
            ("act", 1, 1),
            ("officer", 1, 1),
            ("officer", page, 2),
        ]  # right, wrong, right, wrong
        case.evidence.save(
            run, [EvidenceRecord("r1", c, f"{c}[{p}]", "d" * 64, p, line, line, "exact", 1.0) for c, p, line in places]
        )
        predicted = predicted_pairs(case, run, gold)
        assert set(predicted) == {(file, "brandmoor")}
        found = located(case, run, gold, predicted)
        assert (found.values, found.located, found.judged, found.on_gold_page) == (4, 4, 4, 2)


def test_a_folder_without_gold_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "gold.json"
    with pytest.raises(UsageError, match="no gold answers"):
        Gold.read(file)
    file.write_text('{"findings": []}', encoding="utf-8")
    with pytest.raises(UsageError, match="no gold answers: 'officers' is missing"):
        Gold.read(file)
    file.write_text('{"officers": [], "findings": ["a.txt"]}', encoding="utf-8")
    with pytest.raises(UsageError, match="no gold answers"):
        Gold.read(file)
    file.write_text('{"officers": ["Ada Holt"], "findings": []}', encoding="utf-8")
    with pytest.raises(UsageError, match="no gold answers"):
        Gold.read(file)


def test_gold_may_leave_out_badges_and_forms_and_number_its_officers(tmp_path: Path) -> None:
    file = tmp_path / "gold.json"
    officers = [{"id": 1, "name": "Ada Holt"}, {"id": 2, "name": "Ben Roy", "badge": 4711}]
    findings = [{"file": "a.txt", "officer_id": 1, "page": 1}, {"file": "b.txt", "officer_id": 2, "page": 3}]
    file.write_text(json.dumps({"officers": officers, "findings": findings}), encoding="utf-8")
    gold = Gold.read(file)
    claimed = [*gold.claimed("Officer Holt", ["a.txt"]), *gold.claimed("Officer R. #4711", ["b.txt"])]
    assert score(claimed, gold.pairs) == Score(2, (), ())


def test_a_table_without_officers_is_refused(tmp_path: Path) -> None:
    with Case(tmp_path / "a.redwell") as case:
        run = case.runs.start(pipeline_yaml="", pipeline_digest="p", model_name="")
        case.runs.save_results(run, ["name"], [])
        with pytest.raises(UsageError, match="no field officer"):
            predicted_pairs(case, run, Gold.read(POLICE))

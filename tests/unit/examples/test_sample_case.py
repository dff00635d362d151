"""The sample case of examples/police: records, gold and the script that prints them agree."""

from __future__ import annotations

import email
import email.policy
import io
import json
import re
import subprocess
import sys
from collections import defaultdict
from pathlib import Path

import docx
import pymupdf
import pytest
from ruamel.yaml import YAML

POLICE = Path(__file__).parents[3] / "examples" / "police"
RECORDS = POLICE / "records"
GOLD = json.loads((POLICE / "gold.json").read_text(encoding="utf-8"))
FILES = [document["file"] for document in GOLD["documents"]]
KIND = {document["file"]: document["kind"] for document in GOLD["documents"]}
SOURCES = {path.stem: path for path in (POLICE / "source").glob("*.yaml")}
LINE_NUMBER = re.compile(r"^\s*\d{1,2}\s*$", re.MULTILINE)
GUILTY = {(finding["officer_id"], finding["file"]) for finding in GOLD["findings"]}
MENTIONED = {(mention["officer_id"], mention["file"]) for mention in GOLD["mentioned_only"]}


def squeeze(text: str) -> str:
    return " ".join(text.split())


def source_of(file: str) -> dict:
    return YAML(typ="safe").load(SOURCES[Path(file).stem].read_text(encoding="utf-8"))


def word_text(data: bytes) -> str:
    """Paragraphs and table cells in the order of the page."""
    parts = []
    for block in docx.Document(io.BytesIO(data)).iter_inner_content():
        rows = getattr(block, "rows", None)
        parts += [block.text] if rows is None else [cell.text for row in rows for cell in row.cells]
    return "\n".join(parts)


def mail_parts(data: bytes) -> dict[str | None, str]:
    message = email.message_from_bytes(data, policy=email.policy.default)
    parts: dict[str | None, str] = {None: message.get_body().get_content()}
    for attachment in message.iter_attachments():
        content = attachment.get_content()
        parts[attachment.get_filename()] = content if isinstance(content, str) else word_text(content)
    return parts


def pdf_pages(data: bytes) -> list[str]:
    with pymupdf.open(stream=data) as document:
        return [LINE_NUMBER.sub("", page.get_text()) for page in document]


def printed_parts(file: str, data: bytes) -> dict[str | None, list[str]]:
    """The pages of each part, white space squeezed; scans are read from their source, as printed before scanning."""
    if KIND[file] == "scan":
        pages: dict[str | None, list[str]] = {None: source_of(file)["body"].split("<<page>>")}
    elif KIND[file] == "pdf":
        pages = {None: pdf_pages(data)}
    elif KIND[file] == "eml":
        pages = {part: [text] for part, text in mail_parts(data).items()}
    else:
        pages = {None: [word_text(data) if KIND[file] == "docx" else data.decode()]}
    return {part: [squeeze(text) for text in texts] for part, texts in pages.items()}


PARTS = {file: printed_parts(file, (RECORDS / file).read_bytes()) for file in FILES}


def whole_text(file: str) -> str:
    return " ".join(page for pages in PARTS[file].values() for page in pages)


@pytest.fixture(scope="module")
def reprinted(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("records")
    subprocess.run([sys.executable, str(POLICE / "make_records.py"), str(folder)], check=True, capture_output=True)
    return folder


def test_gold_lists_every_record_and_only_those():
    assert sorted(FILES) == sorted(path.name for path in RECORDS.iterdir())


def test_printing_again_gives_the_same_text(reprinted: Path):
    assert sorted(path.name for path in reprinted.iterdir()) == sorted(FILES)
    for file in FILES:
        assert printed_parts(file, (reprinted / file).read_bytes()) == PARTS[file], file


@pytest.mark.parametrize("file", [file for file in FILES if KIND[file] == "scan"])
def test_printing_a_scan_again_gives_the_same_image(reprinted: Path, file: str):
    with pymupdf.open(RECORDS / file) as kept, pymupdf.open(reprinted / file) as new:
        sizes = [(page.rect, page.get_images()[0][2:4]) for page in kept]
        assert [(page.rect, page.get_images()[0][2:4]) for page in new] == sizes


@pytest.mark.parametrize("file", [file for file in FILES if KIND[file] == "scan"])
def test_scans_are_images_without_text(file: str):
    with pymupdf.open(RECORDS / file) as document:
        assert document.page_count in (1, 2)
        for page in document:
            assert page.get_text().strip() == ""
            assert len(page.get_images()) == 1


def test_there_are_five_kinds_and_the_pdfs_have_several_pages():
    assert set(KIND.values()) == {"pdf", "scan", "docx", "txt", "eml"}
    for document in GOLD["documents"]:
        if document["file"].endswith(".pdf"):
            with pymupdf.open(RECORDS / document["file"]) as pdf:
                assert pdf.page_count == document["pages"]
            assert document["kind"] == "scan" or document["pages"] >= 2
        else:
            assert document["pages"] == 1


def test_one_pdf_has_an_outline_and_a_table():
    with pymupdf.open(RECORDS / "01_opr_findings_2022-0147.pdf") as document:
        assert [title for _, title, _ in document.get_toc()][2] == "III. Allegations and findings"
        tables = [table.extract() for page in document for table in page.find_tables().tables]
    assert any(row[0] == "4" and row[3] == "Exonerated" for table in tables for row in table)


def test_the_records_are_small():
    assert sum((RECORDS / file).stat().st_size for file in FILES) < 2_500_000


@pytest.mark.parametrize("finding", GOLD["findings"], ids=lambda finding: f"{finding['officer_id']}-{finding['file']}")
def test_each_quote_stands_on_its_page(finding: dict):
    page = PARTS[finding["file"]][finding["part"]][finding["page"] - 1]
    assert squeeze(finding["quote"]) in page
    for place in finding.get("also", ()):
        assert squeeze(place["quote"]) in PARTS[finding["file"]][finding["part"]][place["page"] - 1]
    assert finding["category"] in GOLD["categories"]


@pytest.mark.parametrize("officer", GOLD["officers"], ids=lambda officer: officer["id"])
def test_each_form_of_a_name_occurs_in_its_file(officer: dict):
    for file, forms in officer["forms"].items():
        assert [form for form in forms if squeeze(form) not in whole_text(file)] == [], file


def test_each_officer_is_found_or_only_mentioned_in_each_file_that_names_him_or_her():
    named = {(officer["id"], file) for officer in GOLD["officers"] for file in officer["forms"]}
    assert named == GUILTY | MENTIONED
    assert set() == GUILTY & MENTIONED


@pytest.mark.parametrize("file", FILES)
def test_no_surname_occurs_in_a_file_whose_forms_leave_it_out(file: str):
    text = whole_text(file).lower()
    for officer in GOLD["officers"]:
        surname = officer["name"].split()[-1].lower()
        if surname in text:
            sharing = [other for other in GOLD["officers"] if other["name"].lower().endswith(surname)]
            assert any(file in other["forms"] for other in sharing), surname


def test_one_surname_belongs_to_two_officers_who_meet_in_one_record():
    owners = defaultdict(list)
    for officer in GOLD["officers"]:
        owners[officer["name"].split()[-1]].append(officer)
    (pair,) = [officers for officers in owners.values() if len(officers) > 1]
    assert {officer["id"] for officer in pair} == {"varrick-d", "varrick-c"}
    assert set(pair[0]["forms"]) & set(pair[1]["forms"])
    assert {officer for officer, _ in GUILTY if officer.startswith("varrick")} == {"varrick-d"}


def test_badges_tell_the_officers_apart():
    badges = [officer["badge"] for officer in GOLD["officers"]]
    assert len(set(badges)) == len(badges) == 11


def test_some_are_guilty_here_and_cleared_there():
    cleared = {
        (mention["officer_id"], mention["file"]) for mention in GOLD["mentioned_only"] if mention["role"] == "cleared"
    }
    guilty = {officer for officer, _ in GUILTY}
    assert {officer for officer, _ in cleared if officer in guilty} == {"tullock", "brandmoor", "kesselby"}
    assert guilty == {"varrick-d", "brandmoor", "tullock", "ombaku", "whitlocke", "kesselby"}


def test_a_changed_name_is_stated_in_a_record():
    assert "Prentisse and Ombaku are one person" in whole_text("09_ia_memo_2021-066.docx")


def test_the_witness_misspells_and_the_machine_misreads():
    assert "Whitlock had the old man's license" in whole_text("06_complaint_disposition_2020-118.pdf")
    assert "TU1LOCK, RAYNARD" in whole_text("12_email_disclosure_list.eml")

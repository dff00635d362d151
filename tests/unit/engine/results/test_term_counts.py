"""A list of terms, and the lines of each document that hold them."""

from __future__ import annotations

from pathlib import Path

import pytest

from engine.errors import UsageError
from engine.results.shown import CountedDocument, TermSum
from engine.results.term_counts import MOST_TERMS, count_terms, term_table, terms_in
from storage.case import Case
from storage.documents import LineRecord
from storage.export.files import write_table
from storage.listing import DocumentFilter


def save(case: Case, name: str, *lines: str) -> str:
    records = [LineRecord(number, 1, text) for number, text in enumerate(lines, 1)]
    id = name[0] * 64
    case.documents.save(id, filename=name, kind="txt", size_bytes=9, page_count=1, body={}, lines=records)
    return id


def test_a_list_has_one_term_a_line_each_once() -> None:
    lines = ["  use  of force ", "", "Taser", "TASER", 'dog "bite"', "offic*"]
    assert terms_in(lines) == ("use of force", "Taser", 'dog "bite"', "offic*")


@pytest.mark.parametrize(
    ("lines", "said"),
    [
        (["", "  "], "the list has 0 terms"),
        (["force", "--"], "the term '--' has no word"),
        ([f"term{n}" for n in range(MOST_TERMS + 1)], "the list has 501 terms"),
    ],
)
def test_what_is_no_list_is_refused(lines: list[str], said: str) -> None:
    with pytest.raises(UsageError, match=said):
        terms_in(lines)


def test_lines_are_counted_by_document_and_term(tmp_path: Path) -> None:
    with Case(tmp_path / "c.redwell") as case:
        a = save(case, "a.txt", "Use of force", "a taser, a Taser", "the officer", "force of use")
        b = save(case, "b.txt", "officers", "the office", "OFFICIAL use", "of force")
        save(case, "c.txt", "nothing")
        found = count_terms(case, ["use of force", "taser", "offic*", "zebra"])
        assert found.terms == (
            TermSum("use of force", '"use of force"', 2, 2),
            TermSum("taser", '"taser"', 1, 1),
            TermSum("offic*", '"offic"*', 4, 2),
            TermSum("zebra", '"zebra"', 0, 0),
        )
        assert found.rows == (CountedDocument(b, "b.txt", (1, 0, 3, 0)), CountedDocument(a, "a.txt", (1, 1, 1, 0)))
        only = count_terms(case, ["taser", "offic*"], DocumentFilter(text="a.txt"))
        assert only.rows == (CountedDocument(a, "a.txt", (1, 1)),)


def test_the_table_has_a_column_for_each_term_and_no_formula(tmp_path: Path) -> None:
    with Case(tmp_path / "c.redwell") as case:
        save(case, "a.txt", "a document", "SUM of 1")
        table = term_table(count_terms(case, ["Document", "=sum"]))
    assert table.columns == ("document_", "Document", "=sum")
    write_table(table, tmp_path / "counts.csv")
    lines = (tmp_path / "counts.csv").read_text(encoding="utf-8").splitlines()
    assert lines == ["document_,Document,'=sum", "a.txt,1,1"]
    write_table(table, tmp_path / "counts.sqlite")  # names of columns differ in more than their case

"""Tags, stars and facts of documents, the listing, and writing beside a job of the same process."""

from __future__ import annotations

import os
import unicodedata
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import get_args

import pytest

from storage.case import Case
from storage.documents import LineRecord
from storage.errors import BadRecord, CaseLocked, NotInCase
from storage.labels import DocumentFacts
from storage.listing import DocumentFilter, SortColumn
from storage.lock import WriterLock, writer_of


def add(case: Case, id: str, name: str, *, kind: str = "pdf", size: int = 1, year: int | None = None) -> None:
    case.documents.save(id, filename=name, kind=kind, size_bytes=size, page_count=1, body={}, lines=[])
    case.documents.add_path(id, f"/records/{name}")
    case.labels.save_facts(id, DocumentFacts(0, "en", year, 2.0))


@pytest.fixture
def three(case: Case) -> Case:
    add(case, "a", "b.pdf", size=3, year=2020)
    add(case, "b", "A_100%.pdf", size=1)
    add(case, "c", "c.eml", kind="mail", size=2, year=2020)
    return case


def ids(case: Case, **wanted: object) -> list[str]:
    rows = case.listing.list_documents(offset=0, limit=10, wanted=DocumentFilter(**wanted))  # type: ignore[arg-type]
    return [row.id for row in rows]


def test_filters_take_what_fits_all_of_them(three: Case) -> None:
    assert ids(three) == ["b", "a", "c"]  # by name, without regard to case
    assert ids(three, kinds=("pdf",), years=(2020,)) == ["a"]
    assert ids(three, years=(0,)) == ["b"]
    assert ids(three, text="0%") == ["b"]
    assert ids(three, text="_") == ["b"]
    three.labels.tag(["a", "c"], "Urgent")
    three.labels.star(["c"])
    assert ids(three, tags=("urgent", "Urgent")) == ["a", "c"]
    assert ids(three, starred=True) == ["c"]
    assert three.listing.documents_that_fit(DocumentFilter(tags=("Urgent",), starred=True)) == {"c"}
    facets = three.listing.facets(DocumentFilter(kinds=("mail",)))
    assert facets.kinds == (("pdf", 2), ("mail", 1))  # as if no kind were chosen
    assert facets.tags == (("Urgent", 1),)
    assert (facets.years, facets.starred) == (((2020, 1),), 1)


def test_a_name_in_quotes_is_the_whole_of_it(case: Case) -> None:
    for id, name in enumerate(("mail.eml", "mail.eml/plan.pdf", "Mail.eml", 'the "mail.eml" file.txt', "b\udcff")):
        add(case, str(id), name)
    assert ids(case, text="mail.eml") == ["0", "2", "1", "3"]
    assert ids(case, text=' "mail.eml"') == ["0", "3"]  # and what has it with the quotes
    assert ids(case, text='"/records/mail.eml"') == ["0"]
    assert ids(case, text='"b\udcff"') == ["4"]
    assert ids(case, text='"mail"') == ids(case, text='""') == []


@pytest.mark.parametrize("name", ["Ärztebericht.pdf", unicodedata.normalize("NFD", "ÄRZTE-Straße.PDF"), "ärzte\udcff"])
@pytest.mark.parametrize("text", ["ärzte", "Ärzte", unicodedata.normalize("NFD", "ÄRZTE")])
def test_names_are_found_without_regard_to_case_in_every_script(case: Case, name: str, text: str) -> None:
    add(case, "a", name)
    add(case, "b", "arzt.pdf")
    assert ids(case, text=text) == ["a"]
    assert ids(case, text=f"/RECORDS/{text}") == ["a"]
    assert ids(case, text="STRASSE") == (["a"] if "ß" in name else [])


def test_names_are_sorted_without_regard_to_case_in_every_script(case: Case) -> None:
    for id, name in (("a", "ä2"), ("b", "Ä1"), ("c", "Ä3")):
        add(case, id, name)
    assert ids(case) == ["b", "a", "c"]


def test_case_makes_no_two_tags_of_one_in_any_script(three: Case) -> None:
    three.labels.tag(["a"], "Überprüft")
    three.labels.tag(["b"], "ÜBERPRÜFT")
    three.labels.tag(["c"], unicodedata.normalize("NFD", "überprüft"))
    assert three.labels.tags() == ["Überprüft"]
    assert ids(three, tags=("ÜBERPRÜFT",)) == ["b", "a", "c"]
    three.labels.untag(["a", "b", "c"], "überprüft")
    assert three.labels.tags() == []


def test_two_tags_of_an_earlier_version_are_each_taken_off_by_its_name(three: Case) -> None:
    """Such a case is opened as it is."""
    for key, (name, document) in enumerate((("Überprüft", "a"), ("ÜBERPRÜFT", "b")), 1):
        three.labels._connection.execute("INSERT INTO tags (key, name) VALUES (?, ?)", [key, name])
        three.labels._connection.execute(
            "INSERT INTO document_tags (document, tag) SELECT key, ? FROM documents WHERE id = ?", [key, document]
        )
    three.labels.tag(["c"], "ÜBERPRÜFT")
    three.labels.untag(["b", "c"], "ÜBERPRÜFT")
    assert three.labels.tags() == ["Überprüft"]
    assert ids(three, tags=("Überprüft",)) == ["a"]


@pytest.mark.parametrize("column", get_args(SortColumn))
def test_every_column_sorts_and_pages_do_not_overlap(three: Case, column: str) -> None:
    for descending in (False, True):
        pages = [
            three.listing.list_documents(offset=at, limit=1, sort=column, descending=descending)[0].id  # type: ignore[arg-type]
            for at in range(3)
        ]
        assert sorted(pages) == ["a", "b", "c"]
    smallest = three.listing.list_documents(offset=0, limit=1, sort="size")
    assert smallest[0].id == "b"


def test_tags_are_checked_and_forgotten_with_their_last_document(three: Case) -> None:
    three.labels.tag(["a"], " to  do ")
    assert three.labels.tags() == ["to do"]
    three.labels.untag(["a"], "to do")
    assert three.labels.tags() == []
    for wrong in ("", " ", "x" * 61, "a\x00b"):
        with pytest.raises(BadRecord, match="a tag has 1 to 60"):
            three.labels.tag(["a"], wrong)
    with pytest.raises(NotInCase):
        three.labels.star(["nowhere"])
    assert three.listing.facets().starred == 0


def test_facts_are_asked_for_where_they_are_missing(three: Case) -> None:
    three.documents.save("d", filename="d", kind="text", size_bytes=1, page_count=1, body={}, lines=[])
    assert three.labels.documents_without_facts(5) == ["d"]
    assert three.listing.listed_document("d").ocr_pages is None
    assert three.listing.reading_rates() == [("mail", 1, 1, 2, 2.0), ("pdf", 2, 2, 4, 4.0)]


def test_an_edit_beside_a_job_is_kept_and_the_lock_lasts_until_both_are_done(tmp_path: Path) -> None:
    path = tmp_path / "test.redwell"
    job = Case(path)
    add(job, "a", "a.pdf")

    def edit() -> None:
        with Case(path, create=False, beside=True) as case:
            case.labels.star(["a"])

    with ThreadPoolExecutor(1) as pool:
        pool.submit(edit).result()
    assert job.listing.listed_document("a").starred
    assert writer_of(path) == os.getpid()
    with pytest.raises(CaseLocked):
        Case(path)
    job.close()
    assert writer_of(path) is None


def test_a_job_may_start_while_an_edit_is_being_made(tmp_path: Path) -> None:
    path = tmp_path / "test.redwell"
    edit = WriterLock(path, beside=True)
    job = WriterLock(path)
    edit.release()
    edit.release()
    assert writer_of(path) == os.getpid()
    with pytest.raises(CaseLocked):
        WriterLock(path)
    job.release()
    assert writer_of(path) is None


def test_removed_documents_are_in_no_list_until_they_are_put_back(three: Case) -> None:
    three.labels.star(["a"])
    assert three.labels.remove_documents(["a", "b"]) == ["a", "b"]
    assert three.labels.remove_documents(["a"]) == []  # it is removed already
    assert ids(three) == ["c"]
    assert ids(three, removed=True) == ["b", "a"]
    assert ids(three, starred=True) == []
    assert (three.listing.count_documents(), three.listing.count_pages(), three.listing.facets().removed) == (1, 1, 2)
    assert three.listing.documents_that_fit(DocumentFilter()) == {"c"}
    assert len(three.documents.entries()) == 3  # what was made from them still finds them
    assert three.labels.put_back_documents(["a", "c"]) == ["a"]
    assert ids(three, starred=True) == ["a"]
    with pytest.raises(NotInCase):
        three.labels.remove_documents(["c", "unknown"])
    assert ids(three) == ["a", "c"]


def test_what_stands_only_inside_of_a_document_goes_with_it(case: Case) -> None:
    for id in ("archive", "mail", "inner", "both", "other"):
        case.documents.save(id, filename=id, kind="mail", size_bytes=1, page_count=1, body={}, lines=[])
    case.documents.add_path("archive", "/r/z.zip")
    case.documents.add_path("mail", "/r/z.zip/m.eml", "archive")
    case.documents.add_path("inner", "/r/z.zip/m.eml/a.txt", "mail")
    case.documents.add_path("both", "/r/z.zip/m.eml/b.txt", "mail")
    case.documents.add_path("both", "/r/b.txt")
    case.documents.add_path("other", "/r/o.txt")
    assert case.labels.remove_documents(["archive"]) == ["archive", "inner", "mail"]
    assert sorted(ids(case)) == ["both", "other"]
    assert case.labels.put_back_documents(["archive"]) == ["archive", "inner", "mail"]


def test_a_search_passes_over_removed_documents(case: Case) -> None:
    for id in ("a", "b"):
        lines = [LineRecord(1, 1, f"the ledger of {id}")]
        case.documents.save(id, filename=id, kind="text", size_bytes=1, page_count=1, body={}, lines=lines)
    case.labels.remove_documents(["a"])
    assert [hit.document_id for hit in case.search.find("ledger")] == ["b"]
    assert [hit.document_id for hit in case.search.find("ledger", within=DocumentFilter(removed=True))] == ["a"]

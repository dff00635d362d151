"""Questions to a worker about a real case: the sample records, read once."""

from __future__ import annotations

import asyncio
import os
import shutil
import time
import zipfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from asking_worker import Window, no_models, play
from old_cases import make_old_case

from engine.documents import codec
from engine.documents.options import ParseOptions
from engine.executor.sources import ingest
from engine.worker.queries.desk import Desk
from engine.worker.queries.registry import GROUPS, arguments, find_query
from engine.worker.queries.search import pieces
from storage.case import Case
from storage.errors import CaseBusy
from storage.listing import DocumentFilter

RECORDS = Path(__file__).resolve().parents[4] / "examples" / "police" / "records"
TEXT_RECORDS = ("03_order*", "07_cad*", "08_prop*", "09_ia*", "11_email*")
"""Records with a text layer, which are read in seconds."""


@pytest.fixture(scope="module")
def read_case(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("case")
    records = folder / "records"
    records.mkdir()
    for pattern in TEXT_RECORDS:
        shutil.copy(next(RECORDS.glob(pattern)), records)
    shutil.copy(records / "08_property_room_memo.txt", records / "copy_of_08.txt")
    (records / "broken.pdf").write_bytes(b"%PDF-1.7 nothing behind it")
    with Case(folder / "sample.redwell") as case:
        work = ingest(records, case, lambda event: None, dataset="records", options=ParseOptions(), workers=1)
        asyncio.run(work)
    return folder / "sample.redwell"


@pytest.fixture
def case(read_case: Path, tmp_path: Path) -> Path:
    return Path(shutil.copy(read_case, tmp_path / "copy.redwell"))


def test_a_case_is_opened_and_summed_up(case: Path) -> None:
    async def script(window: Window) -> None:
        opened = await window.ask("case.open", case=str(case))
        assert opened["read_only"] == ""
        # five records, and the agreement attached to the mail; the order has three pages, each other one
        assert (opened["summary"]["documents"], opened["summary"]["pages"]) == (6, 8)
        assert opened["summary"]["failures"] == 1
        assert "there is no case" in await window.ask("case.open", case=str(case.with_name("none.redwell")))
        made = await window.ask("case.open", case=str(case.with_name("new.redwell")), create=True)
        assert made["summary"]["documents"] == 0

    play(script)


def test_rows_come_in_pages_sorted_and_filtered(case: Path) -> None:
    async def script(window: Window) -> None:
        first = await window.ask("documents.page", case=str(case), limit=2)
        rest = await window.ask("documents.page", case=str(case), offset=2, limit=100)
        assert first["total"] == rest["total"] == 6
        names = [row["name"] for row in first["rows"] + rest["rows"]]
        assert names == sorted(names, key=str.lower)
        assert len(first["rows"]) == 2
        sizes = await window.ask("documents.page", case=str(case), sort="size", descending=True)
        found = [row["size_bytes"] for row in sizes["rows"]]
        assert found == sorted(found, reverse=True)
        only = await window.ask("documents.page", case=str(case), only={"kinds": ["mail"]})
        assert [row["year"] for row in only["rows"]] == [2022]
        assert {row["language"] for row in sizes["rows"]} == {"en"}
        memo = await window.ask("documents.page", case=str(case), only={"text": "copy_of_08"})
        assert [row["copies"] for row in memo["rows"]] == [2]
        percent = await window.ask("documents.page", case=str(case), only={"text": "%"})
        assert percent["total"] == 0

    play(script)


def test_who_opens_an_older_case_is_told_once_where_the_copy_is(tmp_path: Path) -> None:
    path = make_old_case(tmp_path / "old.redwell", 4)

    async def script(window: Window) -> None:
        for _ in range(2):
            opened = await window.ask("case.open", case=str(path))
            assert opened["summary"]["documents"] == 1
        (noted,) = (event for event in window.events if event["event"] == "CaseNoted")
        (copy,) = tmp_path.glob("old.schema-4.*.redwell")
        assert noted["message"] == "old.redwell is of an earlier version of Redwell and was upgraded."
        assert str(copy) in noted["advice"]

    play(script)


def test_tags_and_stars_are_set_counted_and_taken_off(case: Path) -> None:
    async def script(window: Window) -> None:
        rows = (await window.ask("documents.page", case=str(case)))["rows"]
        ids = [row["id"] for row in rows]
        await window.ask("documents.tag", case=str(case), documents=ids[:2], tag="  to   read ")
        await window.ask("documents.tag", case=str(case), documents=ids[1:3], tag="TO READ")
        await window.ask("documents.star", case=str(case), documents=ids[:1])
        facets = await window.ask("documents.facets", case=str(case))
        assert facets["tags"] == [["to read", 3]]
        assert facets["starred"] == 1
        assert sum(count for _, count in facets["kinds"]) == 6
        starred = await window.ask("documents.page", case=str(case), only={"starred": True})
        assert [(row["id"], row["tags"], row["starred"]) for row in starred["rows"]] == [(ids[0], ["to read"], True)]
        await window.ask("documents.tag", case=str(case), documents=ids, tag="to read", on=False)
        assert await window.ask("documents.tags", case=str(case)) == []
        assert "a tag has 1 to 60" in await window.ask("documents.tag", case=str(case), documents=ids, tag=" ")
        changes = [event["query"] for event in window.events if event["event"] == "CaseChanged"]
        assert changes == ["documents.tag", "documents.tag", "documents.star", "documents.tag"]

    play(script)


def test_a_page_has_lines_with_boxes_and_a_picture(case: Path) -> None:
    async def script(window: Window) -> None:
        order = (await window.ask("documents.page", case=str(case), only={"kinds": ["pdf"]}))["rows"][0]
        sections = await window.ask("documents.outline", case=str(case), document=order["id"])
        assert all(1 <= s["first_page"] <= 3 for s in sections)
        assert sections[-1]["first_page"] == 3
        text = await window.ask("pages.lines", case=str(case), document=order["id"], page=2)
        assert (text["pages"], text["height"]) == (3, 792.0)
        before = await window.ask("pages.lines", case=str(case), document=order["id"], page=1)
        assert text["lines"][0]["number"] == before["lines"][-1]["number"] + 1
        assert all(0 <= line["box"][0] < line["box"][2] <= 612 for line in text["lines"])
        assert "has no page 4" in await window.ask("pages.lines", case=str(case), document=order["id"], page=4)
        picture = await window.ask("pages.picture", case=str(case), document=order["id"], page=2, scale=1.0)
        file = Path(picture["file"])
        width, height = (int.from_bytes(file.read_bytes()[at : at + 4]) for at in (16, 20))
        assert (width, height) == (612, 792)
        again = await window.ask("pages.picture", case=str(case), document=order["id"], page=2, scale=1.0)
        assert again == picture
        os.utime(file, (0, 0))
        await window.ask("pages.picture", case=str(case), document=order["id"], page=2, scale=1.0)
        assert file.stat().st_mtime > 0  # one that was looked at is among the newest

    play(script)


def test_of_a_document_no_lines_are_built_but_those_of_the_page(case: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    built: list[int] = []
    build = codec._line_from_json

    def counting(number: int, *given: Any, **named: Any) -> Any:
        built.append(number)
        return build(number, *given, **named)

    monkeypatch.setattr(codec, "_line_from_json", counting)

    async def script(window: Window) -> None:
        order = (await window.ask("documents.page", case=str(case), only={"kinds": ["pdf"]}))["rows"][0]["id"]
        text = await window.ask("pages.lines", case=str(case), document=order, page=2)
        numbers = [line["number"] for line in text["lines"]]
        assert built == numbers
        assert len(numbers) == text["total_lines"] > 3
        assert await window.ask("search.within", case=str(case), document=order, words=text["lines"][0]["text"])
        assert built == numbers
        monkeypatch.setattr("engine.worker.queries.pages.MOST_LINES", 3)
        for near, first in ((None, 0), (numbers[0], 0), (numbers[2], 1), (numbers[-1], len(numbers) - 3)):
            part = await window.ask("pages.lines", case=str(case), document=order, page=2, near=near)
            assert [line["number"] for line in part["lines"]] == numbers[first : first + 3]
            assert part["total_lines"] == len(numbers)

    play(script)


def test_words_are_found_with_their_places(case: Path) -> None:
    async def script(window: Window) -> None:
        found = await window.ask("search.lines", case=str(case), words="larkmoor polic", limit=2)
        assert found["has_more"] is True
        for row in found["rows"]:
            text = "".join(piece for piece, _ in row["pieces"]).lower()
            assert "larkmoor" in text
            assert "police" in text
            assert {piece.lower() for piece, is_hit in row["pieces"] if is_hit} == {"larkmoor", "police"}
        mail = await window.ask("search.lines", case=str(case), words="larkmoor", only={"kinds": ["mail"]})
        assert {row["name"] for row in mail["rows"]} == {"11_email_separation_varrick.eml"}
        rest = await window.ask("search.lines", case=str(case), words="larkmoor polic", offset=2, limit=2)
        places = [(row["document"], row["line"]) for row in found["rows"] + rest["rows"]]
        assert len(set(places)) == len(places)
        row = found["rows"][0]
        lines = await window.ask("search.within", case=str(case), document=row["document"], words="LARKMOOR")
        assert [row["page"], row["line"]] in lines

    play(script)


def test_a_list_of_terms_is_counted_and_saved(case: Path, tmp_path: Path) -> None:
    async def script(window: Window) -> None:
        terms = ["Larkmoor Police", "larkm*", "zebra"]
        found = await window.ask("search.terms", case=str(case), terms=terms)
        assert [each["term"] for each in found["terms"]] == terms
        for place, each in enumerate(found["terms"]):
            lines = await window.ask("search.lines", case=str(case), words=each["query"], limit=500)
            assert each["lines"] == (0 if lines["is_fuzzy"] else len(lines["rows"]))
            assert each["lines"] == sum(row["counts"][place] for row in found["rows"])
            assert each["documents"] == sum(row["counts"][place] > 0 for row in found["rows"])
        mail = await window.ask("search.terms", case=str(case), terms=terms, only={"kinds": ["mail"]})
        assert [row["name"] for row in mail["rows"]] == ["11_email_separation_varrick.eml"]
        file = tmp_path / "counts.csv"
        assert await window.ask(
            "search.save_terms", case=str(case), terms=terms, file=str(file), only={"kinds": ["mail"]}
        ) == len(mail["rows"])
        written = file.read_text(encoding="utf-8").splitlines()
        assert written == [
            "document,Larkmoor Police,larkm*,zebra",
            ",".join([mail["rows"][0]["name"], *map(str, mail["rows"][0]["counts"])]),
        ]
        assert "0 terms" in await window.ask("search.terms", case=str(case), terms=[" "])

    play(script)


def test_searches_are_saved_listed_and_removed(case: Path) -> None:
    async def script(window: Window) -> None:
        assert await window.ask("search.saved", case=str(case)) == []
        only = {"kinds": ["mail"], "years": [2022], "starred": True}
        kept = await window.ask("search.save", case=str(case), name="Mails", words="larkmoor", only=only)
        assert (kept["name"], kept["words"]) == ("Mails", "larkmoor")
        assert {part: value for part, value in kept["only"].items() if value} == only
        assert await window.ask("search.saved", case=str(case)) == [kept]
        assert "nothing to save" in await window.ask("search.save", case=str(case), name="None")
        assert await window.ask("search.forget", case=str(case), name="mails") == "mails"
        assert await window.ask("search.saved", case=str(case)) == []
        assert "no search is saved" in await window.ask("search.forget", case=str(case), name="mails")
        changes = [event["query"] for event in window.events if event["event"] == "CaseChanged"]
        assert changes == ["search.save", "search.forget"]

    play(script)


def test_failures_say_why_and_an_estimate_counts(case: Path, read_case: Path, tmp_path: Path) -> None:
    records = read_case.with_name("records")
    unread = Path(shutil.copytree(records, tmp_path / "unread"))

    async def script(window: Window) -> None:
        failed = await window.ask("documents.failures", case=str(case))
        assert failed["total"] == 1
        assert failed["rows"][0]["path"].endswith("broken.pdf")
        assert failed["rows"][0]["advice"]
        estimate = await window.ask("ingest.estimate", case=str(case), folder=str(unread))
        assert (estimate["files"], estimate["known"]) == (7, 0)
        assert {kind["kind"]: kind["files"] for kind in estimate["kinds"]} == {
            "docx": 1,
            "mail": 1,
            "pdf": 2,
            "text": 3,
        }
        assert estimate["bytes"] == sum(f.stat().st_size for f in unread.iterdir())
        assert estimate["seconds"] > 0
        estimate = await window.ask("ingest.estimate", case=str(case), folder=str(records))
        assert (estimate["files"], estimate["known"], estimate["kinds"], estimate["bytes"]) == (7, 7, [], 0)
        assert estimate["unread"] == 1
        assert "there is nothing at" in await window.ask("ingest.estimate", case=str(case), folder="/nowhere/at/all")

    play(script)


def test_an_estimate_knows_archives_and_what_has_changed(tmp_path: Path) -> None:
    folder, kept = tmp_path / "records", tmp_path / "kept.redwell"
    folder.mkdir()
    archive, broken, letter = (folder / name for name in ("all.zip", "broken.pdf", "letter.txt"))
    with zipfile.ZipFile(archive, "w") as writing:
        writing.writestr("inner.txt", "In the archive.")
    broken.write_bytes(b"%PDF-1.7 nothing behind it")

    def read() -> None:
        with Case(kept) as case:
            work = ingest(folder, case, lambda event: None, dataset="r", options=ParseOptions(), workers=1)
            asyncio.run(work)

    for text in ("A long letter.", "Short."):
        letter.write_text(text, encoding="utf-8")
        read()

    async def script(window: Window) -> None:
        async def counted(path: Path) -> tuple[int, ...]:
            estimate = await window.ask("ingest.estimate", case=str(kept), folder=str(path))
            return tuple(estimate[part] for part in ("files", "known", "unread"))

        assert await counted(folder) == (3, 3, 1)
        assert await counted(archive) == (1, 1, 0)
        assert await counted(broken) == (1, 1, 1)
        broken.write_bytes(b"%PDF-1.7 something behind")
        with zipfile.ZipFile(archive, "a") as writing:
            writing.writestr("second.txt", "In the archive, too.")
        assert await counted(folder) == (3, 1, 0)

    play(script)


def test_questions_are_answered_and_edits_made_while_files_are_read(case: Path, read_case: Path) -> None:
    async def script(window: Window) -> None:
        ids = [row["id"] for row in (await window.ask("documents.page", case=str(case)))["rows"]]
        folder = str(read_case.with_name("records"))
        window.send(command="ingest", id="i", folder=folder, case=str(case), again=True, workers=1)
        window.send(command="pause")
        await window.until(lambda e: e["event"] == "CommandAccepted" and e["command"] == "pause")
        await window.until(lambda e: e["event"] == "FilesFound")
        assert await window.ask("documents.star", case=str(case), documents=ids) == ids
        page = await window.ask("documents.page", case=str(case), only={"starred": True})
        assert page["total"] == 6
        assert not [e for e in window.events if e["event"] == "CommandFinished"]
        window.send(command="resume")
        done = await window.until(lambda e: e["event"] == "CommandFinished")
        assert done["exit_code"] == 1  # broken.pdf
        read = [e["status"] for e in window.events if e["event"] == "DocumentRead"]
        assert (read.count("parsed"), read.count("duplicate")) == (6, 1)
        kept = await window.ask("documents.page", case=str(case), only={"starred": True})
        assert kept["total"] == 6

    play(script)


def test_an_edit_waits_until_a_job_has_saved_a_long_document(
    case: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("storage.opening.BUSY_TIMEOUT_MILLISECONDS", 20)
    desk = Desk(tmp_path, lambda event: None, no_models)
    with Case(case) as job, ThreadPoolExecutor(1) as edits:
        ids = tuple(entry.id for entry in job.documents.entries())
        star, given = find_query("documents.star"), {"case": str(case), "documents": ids}
        with job.transaction():
            edit = edits.submit(star.ask, desk, given)
            time.sleep(0.5)
            assert not edit.done()
        assert edit.result(30) == list(ids)
        monkeypatch.setattr("storage.case.BESIDE_MILLISECONDS", 20)
        with job.transaction(), pytest.raises(CaseBusy) as caught:
            edits.submit(star.ask, desk, given).result(30)
    assert "Redwell is saving a long document" in caught.value.advice


def test_questions_that_are_written_are_kept_though_the_worker_ends(tmp_path: Path) -> None:
    async def script(window: Window) -> None:
        for number in range(40):
            given = {"query": "pipelines.save", "path": str(tmp_path / f"{number}.yaml"), "text": "a: 1"}
            window.send(command="ask", id=f"p{number}", **given)
        for number in range(40):
            window.send(command="forget", id=f"p{number}")

    play(script)
    assert len(list(tmp_path.glob("*.yaml"))) == 40


@pytest.mark.parametrize(
    ("command", "said"),
    [
        ({"query": "documents.pages", "case": "c"}, "unknown query 'documents.pages'"),
        ({"query": "nothing.at_all"}, "unknown query 'nothing.at_all'"),
        ({"query": "documents.page"}, "the key 'case' is missing"),
        ({"query": "documents.page", "case": "c", "ofset": 1}, "unknown key 'ofset'"),
        ({"query": "documents.page", "case": "c", "limit": True}, "limit must be a whole number"),
        ({"query": "documents.page", "case": "c", "sort": "colour"}, "sort is 'colour'"),
        ({"query": "documents.page", "case": "c", "only": {"years": "2020"}}, "years must be a list"),
        ({"query": "documents.page", "case": "c", "only": {"year": [1]}}, "unknown key 'year'"),
        ({"query": "documents.star", "case": "c", "documents": [1]}, "documents must be text"),
        ({}, "the key 'query' is missing"),
    ],
)
def test_a_wrong_question_is_refused(command: dict[str, Any], said: str) -> None:
    async def script(window: Window) -> None:
        window.send(command="ask", id="q", **command)
        event = await window.until(lambda e: e["event"] == "CommandFailed")
        assert (event["id"], event["exit_code"]) == ("q", 2)
        assert said in event["message"]

    play(script)


def test_a_forgotten_question_is_not_answered(case: Path) -> None:
    async def script(window: Window) -> None:
        for number in range(20):
            window.send(command="ask", id=f"f{number}", query="documents.page", case=str(case))
        for number in range(20):
            window.send(command="forget", id=f"f{number}")
        window.send(command="forget", id="never asked")
        await window.ask("case.summary", case=str(case))
        assert not [event for event in window.events if str(event.get("id", "")).startswith("f")]

    play(script)


def test_the_id_of_a_forgotten_question_may_be_used_again(case: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("engine.worker.answering.is_loaded", lambda name: False)  # as for the first of each group

    async def script(window: Window) -> None:
        window.send(command="ask", id="x", query="documents.tags", case=str(case))
        window.send(command="forget", id="x")
        await window.ask("documents.tags", case=str(case))
        window.send(command="ask", id="x", query="documents.tags", case=str(case))
        assert (await window.until(lambda e: e.get("id") == "x"))["event"] == "Answered"

    play(script)


def test_changes_that_were_asked_for_are_made_before_the_worker_ends(
    case: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also one whose module is still to be read."""
    monkeypatch.setattr("engine.worker.answering.is_loaded", lambda name: name != "documents.star")

    async def script(window: Window) -> None:
        ids = [row["id"] for row in (await window.ask("documents.page", case=str(case)))["rows"]]
        for number in range(40):
            given = {"query": "documents.tag", "documents": ids, "tag": f"{number}"}
            window.send(command="ask", id=f"t{number}", case=str(case), **given)
        window.send(command="ask", id="s", query="documents.star", case=str(case), documents=ids)

    play(script)
    with Case(case, read_only=True) as read:
        assert len(read.labels.tags()) == 40
        assert read.listing.count_documents(DocumentFilter(starred=True)) == 6


def test_every_query_of_every_group_can_be_checked() -> None:
    for group in GROUPS:
        with pytest.raises(Exception, match="unknown query"):
            find_query(f"{group}.no_such_query")
    assert arguments(find_query("pages.picture"), {"case": "c", "document": "d", "page": 1, "scale": 2})["scale"] == 2.0


def test_snippets_are_split_at_their_hits() -> None:
    assert pieces("a \x02b\x03 c\x02d\x03") == (("a ", False), ("b", True), (" c", False), ("d", True))


def test_a_module_that_cannot_be_read_is_told_and_others_are_read_after_it(
    case: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("engine.worker.queries.registry.GROUPS", {**GROUPS, "broken": "engine.no_such_module"})

    async def script(window: Window) -> None:
        for _ in range(2):
            assert "a defect of Redwell stopped broken.thing: ModuleNotFoundError" in await window.ask("broken.thing")
        assert (await window.ask("case.summary", case=str(case)))["documents"] == 6

    play(script)

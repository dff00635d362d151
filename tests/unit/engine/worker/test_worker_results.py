"""Questions about results, and exports as jobs, to a worker whose case was invented."""

from __future__ import annotations

import asyncio
import csv
import errno
import io
import json
import shutil
import threading
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pymupdf
import pytest
from invented_results import PEOPLE, make_results

import engine.worker.queries.network as network_queries
import engine.worker.queries.results as result_queries
from engine.custody.recording import save_review
from engine.documents.document import Document
from engine.documents.options import ParseOptions
from engine.documents.report import ReportSpec
from engine.errors import DocumentError, UsageError
from engine.executor.case_documents import load_document
from engine.results.network import Network, NetworkChoice, make_network
from engine.results.values import shown
from engine.rows import DocumentId
from engine.values.registry import value_type
from engine.worker import page_images, work
from engine.worker.contract.results import ShownRow
from engine.worker.exports import ExportStopped, OutputOptions, write_outs
from engine.worker.queries.desk import Desk
from engine.worker.queries.registry import find_query
from engine.worker.session import Session
from models.errors import ModelError
from storage.case import Case
from storage.evidence import EvidenceRecord
from storage.export.reviews import ReviewOptions
from storage.reviews import ReviewEdit
from storage.rows import RowRecord
from storage.runs import Runs


class Window:
    """The other end of a session."""

    def __init__(self, case: Path, run: str) -> None:
        def no_models() -> Any:
            raise ModelError("no model is asked here")

        self.case, self.run = str(case), run
        self.written = io.StringIO()
        self.lines: asyncio.Queue[str | None] = asyncio.Queue()
        self.session = Session(no_models, self.written)
        self.count = 0

    @property
    def events(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in self.written.getvalue().splitlines()]

    async def event(self, name: str) -> dict[str, Any]:
        while True:
            for event in self.events:
                if event["event"] == name:
                    return event
                assert event["event"] != "CommandFailed", event
            await asyncio.sleep(0.01)

    async def ask(self, query: str, **given: Any) -> Any:
        self.count += 1
        line = {"command": "ask", "id": f"{self.count}", "query": query, "case": self.case, **given}
        self.lines.put_nowait(json.dumps(line))
        while True:
            for event in self.events:
                if event.get("id") == line["id"] and event["event"] in ("Answered", "CommandFailed"):
                    return event["result"] if event["event"] == "Answered" else event
            await asyncio.sleep(0.005)

    async def about(self, query: str, **given: Any) -> Any:
        return await self.ask(query, run=self.run, **given)

    async def export(self, *outs: Path, **given: Any) -> dict[str, Any]:
        line = {"command": "export", "id": "e", "case": self.case, "run": self.run, "out": [str(o) for o in outs]}
        self.lines.put_nowait(json.dumps({**line, **given}))
        return await self.event("CommandFinished")


@pytest.fixture
def made(tmp_path: Path) -> tuple[Path, str]:
    return make_results(tmp_path / "made")


def talk(made: tuple[Path, str], script: Callable[[Window], Awaitable[None]]) -> list[dict[str, Any]]:
    async def both() -> list[dict[str, Any]]:
        window = Window(*made)
        serving = asyncio.create_task(window.session.serve(window.lines))
        try:
            async with asyncio.timeout(60):
                await script(window)
        finally:
            window.lines.put_nowait(None)
            await serving
        return window.events

    return asyncio.run(both())


def test_the_table_is_described_and_paged(made: tuple[Path, str]) -> None:
    async def script(window: Window) -> None:
        (run,) = await window.ask("results.runs")
        assert (run["id"], run["rows"]) == (window.run, 6)
        table = await window.about("results.table")
        assert [(c["name"], c["kind"], c["resolved_by"]) for c in table["columns"]] == [
            ("officer", "text", "same_officer"),
            ("date", "date", ""),
            ("force", "flag", ""),
            ("days", "number", ""),
            ("acts", "list", ""),
        ]
        page = await window.about("results.page", offset=4, limit=1)
        assert page["total"] == 6
        (row,) = page["rows"]
        assert row["cells"] == ["Michael Harmon", "2021-12-01", "yes", "5", "struck a man"]
        assert (row["number"], row["missing"]) == (5, [3])
        only = {"sort": "days", "descending": True, "filters": [{"column": "officer", "text": "ruiz"}]}
        page = await window.about("results.page", only=only)
        assert [row["id"] for row in page["rows"]] == ["row2", "row5", "row3"]
        group = await window.about("results.group", column="officer", most=1)
        assert (group["counts"], group["others"]) == ([["Ana Ruiz", 3]], 2)
        grouping = {"column": "officer", "all_folded": True, "others": ["Ana Ruiz"]}
        page = await window.about("results.page", limit=5, grouping=grouping)
        assert page["rows"][0] == {"heading": "Ana Ruiz", "count": 3, "is_folded": False}
        assert [row["id"] for row in page["rows"][1:4]] == ["row2", "row3", "row5"]
        assert (page["total"], page["selected"]) == (6, 6)  # three headings, three rows that are not folded

    talk(made, script)


def test_runs_are_listed_without_reading_their_rows(made: tuple[Path, str], monkeypatch: pytest.MonkeyPatch) -> None:
    with Case(made[0]) as case:
        case.runs.start(pipeline_yaml="", pipeline_digest="q", model_name="scripted")
        empty = case.runs.start(pipeline_yaml="", pipeline_digest="q", model_name="scripted")
        case.runs.save_results(empty, ("officer",), [])

    def read(runs: Runs, run: str) -> None:
        raise AssertionError(f"all rows of run {run} are read")

    monkeypatch.setattr(Runs, "results", read)

    async def script(window: Window) -> None:
        listed = await window.ask("results.runs")
        assert [run["rows"] for run in listed] == [0, None, 6]

    talk(made, script)


def test_rows_are_named_by_their_lines_in_the_table(made: tuple[Path, str]) -> None:
    async def script(window: Window) -> None:
        spans = [{"first": 0, "last": 1}, {"first": 4, "last": 99}]
        assert await window.about("results.ids", spans=spans) == ["row0", "row1", "row4", "row5"]
        only = {"sort": "days", "descending": True, "filters": [{"column": "officer", "text": "ruiz"}]}
        assert await window.about("results.ids", spans=[{"first": 1, "last": 2}], only=only) == ["row5", "row3"]
        grouping = {"column": "officer", "all_folded": True, "others": ["Ana Ruiz"]}
        lines = [{"first": 0, "last": 2}, {"first": 4, "last": 4}]  # a heading, two rows, a heading
        assert await window.about("results.ids", spans=lines, grouping=grouping) == ["row2", "row3"]
        by_act = {"column": "acts", "all_folded": False, "others": []}
        whole = await window.about("results.ids", spans=[{"first": 0, "last": 99}], grouping=by_act)
        assert sorted(whole) == [f"row{n}" for n in range(6)]

    talk(made, script)


def test_a_step_is_told_with_its_run(made: tuple[Path, str]) -> None:
    async def script(window: Window) -> None:
        await window.about("reviews.judge", rows=["row0"], kind="accept")
        for query in ("reviews.undo", "reviews.redo"):
            assert (await window.ask(query))["run_id"] == window.run

    talk(made, script)


def test_a_cell_leads_to_its_lines(made: tuple[Path, str]) -> None:
    async def script(window: Window) -> None:
        cell = await window.about("results.cell", row="row0", column="officer")
        (place,) = cell["places"]
        assert (place["page"], place["first_line"], place["last_line"]) == (2, 2, 2)
        missing = await window.about("results.cell", row="row4", column="days")
        assert [place["document"] for place in missing["places"]] == [""]
        assert (await window.about("results.cell", row="row4", column="nope"))["event"] == "CommandFailed"

    talk(made, script)


def test_review_is_edited_undone_and_counted(made: tuple[Path, str]) -> None:
    async def script(window: Window) -> None:
        assert await window.about("reviews.judge", rows=["row0", "row1"], kind="accept") == 2
        assert await window.about("reviews.correct", row="row2", column="days", text="31") == "31"
        await window.about("reviews.note", row="row3", text=" who? ")
        page = await window.about("results.page", limit=4)
        assert [row["verdict"] for row in page["rows"]] == ["accepted", "accepted", "corrected", ""]
        assert (page["rows"][2]["cells"][3], page["rows"][2]["corrected"]) == ("31", [3])
        assert page["rows"][3]["note"] == "who?"
        progress = await window.about("reviews.progress")
        assert (progress["rows"], progress["reviewed"], progress["accepted"], progress["corrected"]) == (6, 3, 2, 1)
        cell = await window.about("results.cell", row="row2", column="days")
        assert (cell["value"], cell["original"], cell["verdict"]) == (31, 30, "corrected")
        assert await window.about("reviews.correct", row="row2", column="days", text="30") == "30"
        assert (await window.about("results.cell", row="row2", column="days"))["verdict"] == ""
        refused = await window.about("reviews.correct", row="row2", column="days", text="a month")
        assert "not a number" in refused["message"]
        for kind in ("clear", "note", "correct", "accept"):
            assert (await window.ask("reviews.undo"))["kind"] == kind
        assert await window.ask("reviews.undo") is None
        assert (await window.ask("reviews.redo"))["cells"] == [["row0", ""], ["row1", ""]]

    events = talk(made, script)
    assert any(event["event"] == "CaseChanged" and event["query"] == "reviews.judge" for event in events)


def test_names_and_charts(made: tuple[Path, str]) -> None:
    async def script(window: Window) -> None:
        history = await window.about("names.history", column="officer", name="Daniel Harmon")
        assert len(history["forms"]) == 2
        done = await window.about("names.merge", column="officer", names=["Michael Harmon"], into="Daniel Harmon")
        assert done["rows"] == 1
        bars = await window.about("charts.values", column="officer")
        assert {bar["label"]: bar["count"] for bar in bars["bars"]} == {"Ana Ruiz": 3, "Daniel Harmon": 3}
        matrix = await window.about("charts.matrix", column="officer")
        assert sorted(matrix["files"])[0] == "record 0.pdf"
        time = await window.about("charts.time", column="date")
        assert [bar["label"] for bar in time["bars"]] == ["2019", "2020", "2021"]

    talk(made, script)


def test_charts_do_not_count_rows_that_were_rejected(made: tuple[Path, str]) -> None:
    async def script(window: Window) -> None:
        before = await window.about("charts.values", column="officer", unit="rows")
        counts = {bar["label"]: bar["count"] for bar in before["bars"]}
        assert counts["Ana Ruiz"] == 3
        await window.about("reviews.judge", rows=["row2"], kind="reject")
        after = await window.about("charts.values", column="officer", unit="rows")
        assert {bar["label"]: bar["count"] for bar in after["bars"]} == {**counts, "Ana Ruiz": 2}
        time = await window.about("charts.time", column="date")
        assert sum(bar["count"] for bar in time["bars"]) + time["undated"] == 5

    talk(made, script)


def test_the_timeline_names_places_and_leaves_rejected_rows_out(made: tuple[Path, str], tmp_path: Path) -> None:
    async def script(window: Window) -> None:
        await window.about("reviews.judge", rows=["row2"], kind="reject")
        shown = await window.about("timeline.show", label="officer")
        assert (shown["column"], shown["columns"]) == ("date", ["date"])
        assert [entry["row"] for entry in shown["entries"]] == ["row0", "row1", "row5", "row4"]
        first = shown["entries"][0]
        assert (first["text"], first["place"], first["number"]) == ("Daniel Harmon", "record 0.pdf, page 2", 1)
        assert shown["entries"][3]["gap"] == "21 months without an entry"
        assert [(u["row"], u["reason"], u["place"]) for u in shown["undated"]] == [
            ("row3", "the cell is empty", "record 3.pdf")
        ]
        table = tmp_path / "by date.csv"
        assert await window.about("timeline.save", column="date", file=str(table)) == 5
        only = {"filters": [{"column": "officer", "text": "Harmon"}]}
        assert await window.about("timeline.save", column="date", file=str(table), only=only) == 3
        with table.open(encoding="utf-8", newline="") as file:
            assert [row["timeline_date"] for row in csv.DictReader(file)] == ["2019-03-04", "2019-03-28", "2021-12-01"]

    talk(made, script)


def test_the_network_names_files_lists_rows_and_is_saved(made: tuple[Path, str], tmp_path: Path) -> None:
    async def script(window: Window) -> None:
        await window.about("reviews.judge", rows=["row4"], kind="reject")
        choice = {"people": ["officer"], "things": ["acts"]}
        shown = await window.about("network.show", choice=choice)
        names = {node["name"]: (node["kind"], node["rows"]) for node in shown["nodes"]}
        assert names["Ana Ruiz"] == ("person", 3) and names["struck a man"] == ("thing", 4)
        assert "Michael Harmon" not in names and "record 4.pdf" not in names
        assert names["record 0.pdf"] == ("document", 1)
        ends = [{"kind": "person", "label": "Ana Ruiz"}, {"kind": "thing", "label": "struck a man", "column": "acts"}]
        both = await window.about("network.rows", choice=choice, ends=ends)
        assert [(row["row"], row["column"], row["file"]) for row in both["rows"]] == [
            ("row2", "officer", "record 2.pdf"),
            ("row5", "officer", "record 5.txt"),
        ]
        acts = await window.about("network.rows", choice=choice, ends=ends[1:])
        assert {(row["column"], row["inside"]) for row in acts["rows"]} == {("acts", "acts[0]")}
        file = tmp_path / "who.graphml"
        counts = await window.about("network.save", choice=choice, file=str(file))
        assert counts == [len(shown["nodes"]), len(shown["links"])]
        refused = await window.about("network.save", choice=choice, file=str(tmp_path / "who.txt"))
        assert "names no format of a network" in refused["message"]
        none = await window.about("network.show", choice={})
        assert "no column is chosen" in none["message"]

    talk(made, script)


def test_the_rows_of_a_link_are_found_in_one_network(made: tuple[Path, str], monkeypatch: pytest.MonkeyPatch) -> None:
    networks = []

    def counting(rows: Any, choice: NetworkChoice) -> Network:
        networks.append(choice)
        return make_network(rows, choice)

    monkeypatch.setattr(network_queries, "make_network", counting)

    async def script(window: Window) -> None:
        choice = {"people": ["officer"], "things": ["acts"]}
        ends = [{"kind": "person", "label": "Ana Ruiz"}, {"kind": "thing", "label": "struck a man", "column": "acts"}]
        both = await window.about("network.rows", choice=choice, ends=ends)
        assert [row["row"] for row in both["rows"]] == ["row2", "row5"]
        assert "no node is named" in (await window.about("network.rows", choice=choice, ends=[]))["message"]

    talk(made, script)
    assert len(networks) == 1


def test_tables_are_exported_as_a_job(made: tuple[Path, str], tmp_path: Path) -> None:
    wide, long = tmp_path / "wide.csv", tmp_path / "long.csv"

    async def script(window: Window) -> None:
        await window.about("reviews.correct", row="row0", column="officer", text="Dan Harmon")
        await window.export(wide, reviews="applied", columns=["officer", "days"], rows=["row0", "row3"])

    events = talk(made, script)
    with wide.open(encoding="utf-8", newline="") as file:
        rows = list(csv.reader(file))
    assert rows[0] == ["officer", "days", "reviewed", "review_note", "officer_source", "days_source"]
    assert [row[:3] for row in rows[1:]] == [["Dan Harmon", "10", "corrected"], ["Ana Ruiz", "", ""]]
    assert [event["rows"] for event in events if event["event"] == "ResultsWritten"] == [2]

    async def again(window: Window) -> None:
        await window.export(long, form="long", columns=["officer"])

    talk(made, again)
    with long.open(encoding="utf-8", newline="") as file:
        found = list(csv.DictReader(file))
    assert [row["file"] for row in found] == [f"record {n}.{'txt' if n == 5 else 'pdf'}" for n in range(len(PEOPLE))]


def test_a_report_shows_the_pages_and_the_sums(made: tuple[Path, str], tmp_path: Path) -> None:
    out = tmp_path / "report.pdf"

    async def script(window: Window) -> None:
        await window.about("reviews.note", row="row0", text="<b>check</b> this & that")
        await window.export(out, rows=["row0", "row5", "row4"], reviews="beside")

    events = talk(made, script)
    (written,) = [event for event in events if event["event"] == "ResultsWritten"]
    assert (written["rows"], written["notes"]) == (3, [])
    with pymupdf.open(out) as pdf:
        texts = [page.get_text(flags=pymupdf.TEXTFLAGS_TEXT & ~pymupdf.TEXT_PRESERVE_LIGATURES) for page in pdf]
        pictures = [len(page.get_images()) for page in pdf]
        yellow = _has_colour(next(page for page in pdf if page.get_images()))
    everything = "\n".join(texts)
    assert sum(pictures) == 2  # a page each of two PDFs; the text file has none
    assert yellow
    assert "Daniel Harmon" in texts[0]
    assert "<b>check</b> this & that" in everything.replace("\n", " ")
    assert "not located" in everything
    assert "Officer Ana Ruiz struck a man on 2020-02-02." in everything.replace("\n", " ")
    assert "same_officer" in texts[-1]
    assert f"page {len(texts)} of {len(texts)}" in texts[-1]
    assert all(size > 0 for size in (len(text.strip()) for text in texts))


def test_a_report_reads_each_document_once_and_none_where_it_is_too_long(
    made: tuple[Path, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    loaded: list[str] = []

    def counting(case: Case, id: DocumentId) -> Document:
        loaded.append(id)
        return load_document(case, id)

    def stop(done: int, total: int, what: str) -> None:
        if what == "pages" and total:
            raise ExportStopped

    monkeypatch.setattr(page_images, "load_document", counting)
    path, run = made
    out, two = tmp_path / "report.pdf", OutputOptions(rows=frozenset({"row0", "row5"}))
    with Case(path, read_only=True) as case:
        with pytest.raises(ExportStopped):
            write_outs(case, run, [out], OutputOptions(), stop)
        assert loaded == []
        write_outs(case, run, [out], two)
        assert len(loaded) == len(set(loaded)) == 2
        monkeypatch.setattr("engine.worker.report.MOST_PAGES", 1)
        with pytest.raises(UsageError, match="a report of 2 rows would have 2 pages"):
            write_outs(case, run, [out], two)
        assert len(loaded) == 2


def test_a_report_has_the_lines_of_a_file_whose_disk_is_gone(
    made: tuple[Path, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def lost(path: Path) -> str:
        raise OSError(errno.EIO, "Input/output error", str(path))

    monkeypatch.setattr(page_images, "sha256_of", lost)
    path, run = made
    with Case(path, read_only=True) as case:
        _, (written,) = write_outs(case, run, [tmp_path / "r.pdf"], OutputOptions(rows=frozenset({"row0"})))
    (note,) = written.notes
    assert note.startswith("record 0.pdf, page 2, was not drawn: ")
    assert note.endswith("cannot be read: Input/output error")


def test_a_page_is_captioned_with_what_stands_on_it(made: tuple[Path, str]) -> None:
    with Case(made[0], read_only=True) as case:
        document = case.documents.entries()[0].id
        places = [
            EvidenceRecord("row0", column, "", document, page, page, page, "exact")  # a page has one line
            for column, page in (("officer", 2), ("days", 1), ("date", 2))
        ]
        pages = page_images.marked_pages(case, places)
    assert [(page.page, page.columns) for page in pages] == [(2, ("officer", "date")), (1, ("days",))]


def test_a_report_shows_no_page_for_a_value_that_was_corrected(
    made: tuple[Path, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made_reports: list[ReportSpec] = []

    def keep(spec: ReportSpec, out: Path, options: ParseOptions) -> None:
        made_reports.append(spec)
        out.write_bytes(b"%PDF-")

    monkeypatch.setattr("engine.worker.report.make_report", keep)
    path, run = made
    with Case(path) as case:
        row = next(case.result_rows.read(run)).identity(case.result_rows.columns(run))
        save_review(case, run, [ReviewEdit(row, "officer", "correct", original="Daniel Harmon", value="Dan Harmon")])
        output = OutputOptions(rows=frozenset({"row0"}), reviews=ReviewOptions("applied"))
        write_outs(case, run, [tmp_path / "r.pdf"], output)
    (report,) = made_reports
    (section,) = report.sections
    assert [place.caption for place in section.places] == ["record 0.pdf, page 2: date, acts"]
    assert {field.name: field.value for field in section.fields}["force"] == "yes"
    assert report.subtitle.endswith(" (UTC), model scripted; 1 row")


def test_a_page_is_drawn_from_the_copy_that_is_as_it_was_read(made: tuple[Path, str], tmp_path: Path) -> None:
    with Case(made[0]) as case:
        document = case.documents.entries()[0].id
        (place,) = case.documents.paths(document)
        copy = Path(shutil.copy(place.path, tmp_path / "copy.pdf"))
        case.documents.add_path(document, str(copy))
        Path(place.path).write_bytes(b"another report")
        assert page_images.source_file(case.documents, document) == (copy, "")
        copy.unlink()
        with pytest.raises(DocumentError, match="has changed since it was read"):
            page_images.source_file(case.documents, document)


def _has_colour(page: pymupdf.Page) -> bool:
    """Say whether something on the page is yellow: a marked line."""
    pixels = page.get_pixmap(dpi=50)
    colours = {pixels.pixel(x, y) for x in range(pixels.width) for y in range(pixels.height)}
    return any(red > 200 and green > 180 and blue < 200 and red - blue > 40 for red, green, blue in colours)


def test_an_export_is_cancelled_and_leaves_nothing(made: tuple[Path, str], tmp_path: Path) -> None:
    out = tmp_path / "report.pdf"

    async def script(window: Window) -> None:
        line = {"command": "export", "case": window.case, "run": window.run, "out": str(out)}
        window.lines.put_nowait(json.dumps(line))
        await window.event("CommandAccepted")
        window.lines.put_nowait('{"command": "cancel"}')
        assert (await window.event("CommandFinished"))["exit_code"] == 130

    talk(made, script)
    assert list(tmp_path.glob("*report*")) == []
    assert list(tmp_path.glob(".redwell-*")) == []


def test_an_export_that_is_cancelled_when_its_files_are_there_is_done(
    made: tuple[Path, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out, cancelled = tmp_path / "late.csv", threading.Event()

    def wait_at_the_end(*given: Any) -> Any:
        written = write_outs(*given)
        assert cancelled.wait(30)
        return written

    monkeypatch.setattr(work, "write_outs", wait_at_the_end)

    async def script(window: Window) -> None:
        line = {"command": "export", "case": window.case, "run": window.run, "out": str(out)}
        window.lines.put_nowait(json.dumps(line))
        while not out.exists():
            await asyncio.sleep(0.01)
        window.lines.put_nowait('{"command": "cancel"}')
        while [event.get("command") for event in window.events].count("cancel") == 0:
            await asyncio.sleep(0.01)
        cancelled.set()
        assert (await window.event("CommandFinished"))["exit_code"] == 0

    events = talk(made, script)
    assert [event["path"] for event in events if event["event"] == "ResultsWritten"] == [str(out)]


def test_an_export_that_cannot_be_written_is_told(made: tuple[Path, str], tmp_path: Path) -> None:
    async def script(window: Window) -> None:
        given = {"command": "export", "case": window.case, "run": window.run}
        for extra in ({"out": str(tmp_path / "x.doc")}, {"out": window.case}, {"out": "x.csv", "form": "deep"}):
            before = len(window.events)
            window.lines.put_nowait(json.dumps(given | extra))
            while not any(event["event"] == "CommandFailed" for event in window.events[before:]):
                await asyncio.sleep(0.01)

    events = talk(made, script)
    messages = [event["message"] for event in events if event["event"] == "CommandFailed"]
    assert "names no export format" in messages[0]
    assert "names no export format" in messages[1]
    assert messages[2] == "export: form is 'deep'"


def test_a_text_typed_over_no_value_is_read_as_the_others_of_its_column(tmp_path: Path) -> None:
    path, fee = tmp_path / "fees.redwell", value_type("amount").cell("USD 1,200.50")
    with Case(path) as case:
        run = case.runs.start(pipeline_yaml="", pipeline_digest="p", model_name="m")
        known = {"who": "B", "fee": fee, "days": 5, "paid": False, "acts": ["a"], "parts": [{"n": 1}]}
        rows = [RowRecord("r0", dict.fromkeys(known)), RowRecord("r1", known)]
        case.rows.save(run, "find", rows)
        case.runs.save_results(run, list(known), ["r0", "r1"])
    desk = Desk(tmp_path, lambda event: None, lambda: None)

    def correct(**given: str) -> str:
        return find_query("reviews.correct").ask(desk, {"case": str(path), "run": run, "row": "r0", **given})

    assert correct(column="who", text="USD 500") == "USD 500"
    assert correct(column="fee", text="USD 500") == shown(value_type("amount").cell("USD 500"))
    with pytest.raises(UsageError, match="cannot be read"):
        correct(column="fee", text="as agreed")
    assert correct(column="days", text="12") == "12"
    with pytest.raises(UsageError, match="is not a number"):
        correct(column="days", text="some")
    assert correct(column="paid", text="yes") == "yes"
    assert correct(column="acts", text="b; c") == "b; c"
    assert correct(column="parts", text='[{"n": 2}]') == '{"n": 2}'
    with Case(path, read_only=True) as case:
        values = [stored.edit.value for stored in case.reviews.edits()]
    desk.close()
    assert values == ["USD 500", value_type("amount").cell("USD 500"), 12, True, ["b", "c"], [{"n": 2}]]


def test_a_cell_is_told_as_people_read_it_and_a_long_one_says_that_it_is_cut(tmp_path: Path) -> None:
    path, fee = tmp_path / "fees.redwell", value_type("amount").cell("USD 1,200.50")
    with Case(path) as case:
        run = case.runs.start(pipeline_yaml="", pipeline_digest="p", model_name="m")
        values = {"fee": fee, "parts": [{"fee": fee, "paid": True}], "text": "x" * 5000}
        case.rows.save(run, "find", [RowRecord("r0", values)])
        case.runs.save_results(run, list(values), ["r0"])
        (row,) = result_queries.page(case, run=run).rows
        told = {name: result_queries.cell(case, run=run, row="r0", column=name).value for name in values}
    assert told == {"fee": shown(fee), "parts": [{"fee": shown(fee), "paid": "yes"}], "text": "x" * 5000}
    assert isinstance(row, ShownRow)
    assert (row.cells[2], row.cut) == ("x" * 4000 + "…", (2,))

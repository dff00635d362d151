"""What the window asks of the ledger of a run: sums, and what failed or was left out, a page at a time."""

from __future__ import annotations

from pathlib import Path

from asking_worker import Window, play

from storage.case import Case
from storage.documents import LineRecord
from storage.ledger import DecisionRecord, DocumentRecord, FateRecord
from storage.rows import RowRecord

PIPELINE = "datasets: {}"
DOCUMENT = "a" * 64


def test_entries_come_by_page_files_first(tmp_path: Path) -> None:
    path = tmp_path / "a.redwell"
    with Case(path) as case:
        lines = [LineRecord(number, 1 + number // 3, f"line {number}") for number in range(1, 7)]
        case.documents.save(DOCUMENT, filename="a.txt", kind="text", size_bytes=1, page_count=3, body={}, lines=lines)
        case.documents.add_path(DOCUMENT, "/r/a.txt")
        run = case.runs.start(pipeline_yaml=PIPELINE, pipeline_digest="", model_name="m")
        told = ("damaged", "it is no PDF", "Repair it.")
        files = [DocumentRecord(f"/r/{name}.pdf", "failed", None, *told) for name in ("x", "y")]
        case.ledger.save_run_documents(run, [DocumentRecord("/r/a.txt", "parsed", DOCUMENT), *files])
        case.documents.save_failure("/r/other.pdf", None, *told)  # which another run met
        rows = [RowRecord(f"r{n}", {}, (), DOCUMENT, 2 * n + 1, 2 * n + 2) for n in range(3)]
        case.rows.save(run, "split", rows)
        case.ledger.save_fates(
            run, "find", [FateRecord("r0", "failed", error="e0"), FateRecord("r1", "output")], rows_in=3
        )
        case.ledger.save_fates(run, "find", [FateRecord("r2", "failed", error="e2", raw_reply="no")])
        case.ledger.save_fates(run, "keep", [FateRecord("r1", "rejected", reason="not wanted")], rows_in=1)
        notes = [DecisionRecord("(row)", f"r{n}", "", "cut", "head", f"{n} lines") for n in range(2)]
        case.ledger.save_decisions(run, "find", notes)

    async def script(window: Window) -> None:
        async def page(**given: object) -> list[tuple[object, ...]]:
            found = await window.ask("ledger.page", case=str(path), run=run, **given)
            assert found["total"] == (1 if given.get("fate") == "rejected" else 4)
            return [(e["name"], e["reason"], e["document"][:1], e["page"], e["line"]) for e in found["rows"]]

        sums = await window.ask("ledger.sums", case=str(path), run=run)
        assert (sums["failed"], sums["rejected"], sums["adds_up"]) == (4, 1, True)
        assert sums["files"] == {"found": 3, "parsed": 1, "duplicates": 0, "failed": 2}
        note = {"operator": "find", "verdict": "cut to fit", "by": "head", "count": 2, "first": "0 lines"}
        assert sums["notes"] == [note]
        whole = await page()
        assert whole == [
            ("x.pdf", "it is no PDF", "", 0, 0),
            ("y.pdf", "it is no PDF", "", 0, 0),
            ("a.txt l.1-2", "e0", "a", 1, 1),
            ("a.txt l.5-6", "e2", "a", 2, 5),
        ]
        for offset in range(4):
            assert await page(offset=offset, limit=2) == whole[offset : offset + 2]
        assert await page(fate="rejected") == [("a.txt l.3-4", "not wanted", "a", 2, 3)]

    play(script)

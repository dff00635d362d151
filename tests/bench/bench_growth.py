"""How a case file grows: bytes and seconds per page up to 100,000 synthetic pages, per reply and per row.

`redwell bench growth`. REDWELL_GROWTH_PAGES (100000) changes the size. Pages are made, not parsed: what parsing takes
is another figure. Everything is saved by the code that a run uses.
"""

from __future__ import annotations

import asyncio
import hashlib
import os
import random
import time
from pathlib import Path

from engine.documents.document import Box, Document, Line, Page
from engine.executor.case_documents import save_document
from engine.loader import parse_pipeline
from engine.rows import DocumentId, Span
from storage.case import Case
from tests.fixtures.scripted_run import Bench, write_jsonl

PAGES = int(os.environ.get("REDWELL_GROWTH_PAGES", "100000"))
PAGES_PER_DOCUMENT = 125
LINES_PER_PAGE = 40
ROWS = 5_000
WORDS = (Path(__file__).parents[2] / "docs" / "pipelines.md").read_text(encoding="utf-8").split()


def synthetic(number: int) -> Document:
    """Make a document of typed pages: 40 lines of 7 words, each with its box; no two documents are alike."""
    chance = random.Random(number)
    lines, pages = [], []
    for page in range(1, PAGES_PER_DOCUMENT + 1):
        first = len(lines) + 1
        for row in range(LINES_PER_PAGE):
            text = " ".join(chance.choice(WORDS) for _ in range(7))
            box = Box(72.0, 72.0 + 16.5 * row, 72.0 + 5.1 * len(text), 84.2 + 16.5 * row)
            lines.append(Line(len(lines) + 1, page, text, box))
        pages.append(Page(page, 612.0, 792.0, "text", "", Span(first, len(lines))))
    digest = hashlib.sha256(str(number).encode()).hexdigest()
    return Document(DocumentId(digest), f"record-{number}.pdf", "pdf", 9_000_000, tuple(pages), tuple(lines))


def size_of(path: Path) -> int:
    return sum(file.stat().st_size for file in path.parent.glob(path.name + "*"))


def test_growth_by_pages(tmp_path: Path) -> None:
    """Print bytes per page while the case grows; what is added later must not cost more."""
    path = tmp_path / "pages.redwell"
    print()
    characters = sum(len(line.text) + 1 for line in synthetic(0).lines) / PAGES_PER_DOCUMENT
    with Case(path) as case:
        began, saved, pages = time.perf_counter(), 0.0, 0
        for number in range(PAGES // PAGES_PER_DOCUMENT):
            document = synthetic(number)
            start = time.perf_counter()
            save_document(case, document)
            saved += time.perf_counter() - start
            pages += PAGES_PER_DOCUMENT
            if pages in (1_000, 10_000, 50_000) or pages == PAGES:
                print(
                    f"{pages:,} pages of {characters:,.0f} characters: {size_of(path) / 1e6:,.0f} MB, "
                    f"{size_of(path) / pages:,.0f} bytes a page, {1000 * saved / pages:.2f} ms a page to save"
                )
        start = time.perf_counter()
        found = case.search.find("pipeline operator", limit=20)
        print(f"a search over {pages:,} pages: {1000 * (time.perf_counter() - start):.0f} ms, {len(found)} hits")
        print(f"in all {time.perf_counter() - began:.0f} s, most of it to make the pages")


PIPELINE = """
datasets: {records: {type: file, path: rows.jsonl}}
default_model: scripted
operations:
  - name: judge
    type: map
    prompt: "Judge {{ input.text }}"
    output: {schema: {officer: string, violation: string, sustained: boolean}}
pipeline:
  steps: [{name: step, input: records, operations: [judge]}]
  output: {type: file, path: out.csv}
"""


def test_growth_by_rows(tmp_path: Path) -> None:
    """Print bytes per reply and per row of a run that asks once per row."""
    chance = random.Random(5)
    texts = [" ".join(chance.choice(WORDS) for _ in range(60)) for _ in range(ROWS)]
    write_jsonl(tmp_path / "rows.jsonl", ({"number": n, "text": text} for n, text in enumerate(texts)))
    answer = {"officer": "Dana Reyes", "violation": "failed to report a use of force", "sustained": True}
    bench = Bench(tmp_path, lambda request: answer)
    empty = size_of(bench.case.path)
    asyncio.run(bench.run(parse_pipeline(PIPELINE, directory=tmp_path)))
    whole = size_of(bench.case.path) - empty
    counts = {name: bench.case._connection.count(f"SELECT count(*) FROM {name}") for name in ("replies", "rows")}
    print(f"\n{ROWS:,} rows through a map: {whole / 1e6:.1f} MB; {whole / ROWS:,.0f} bytes for a row in and out, and a")
    print(f"reply; the tables then hold {counts}")
    bench.case.close()

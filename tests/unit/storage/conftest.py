from collections.abc import Iterator
from pathlib import Path

import pytest

from storage.case import Case
from storage.documents import LineRecord


@pytest.fixture
def case(tmp_path: Path) -> Iterator[Case]:
    with Case(tmp_path / "test.redwell") as opened:
        yield opened


@pytest.fixture
def run_id(case: Case) -> str:
    return start_run(case)


def start_run(case: Case) -> str:
    return case.runs.start(
        pipeline_yaml="operations: []", pipeline_digest="p1", model_name="tiny", settings={"seed": 7}
    )


@pytest.fixture
def letter(case: Case) -> str:
    """A document of two pages and five lines."""
    texts = [
        (1, "Internal Affairs Division"),
        (1, "Officer RAMÍREZ, J. (badge #4471) struck the man."),
        (1, "It was 3/4/2019, about 10:15."),
        (2, "The officer's report says otherwise."),
        (2, "=HYPERLINK is not a name"),
    ]
    lines = [LineRecord(number, page, text) for number, (page, text) in enumerate(texts, 1)]
    case.documents.save(
        "a" * 64, filename="letter.pdf", kind="pdf", size_bytes=123, page_count=2, body={"pages": [1, 2]}, lines=lines
    )
    return "a" * 64

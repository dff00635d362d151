"""docs/scale.md: its example is what the command says now."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[3] / "tests" / "bench"))

from scale_page import PAGE, example, written


def test_the_page_holds_what_the_command_prints() -> None:
    page = PAGE.read_text(encoding="utf-8")
    assert page == written(page, example()), "run python tests/bench/scale_page.py, and read the text around it again"

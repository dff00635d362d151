"""The page of the directives shows each, with the operators of its fixture before and after."""

from __future__ import annotations

from pathlib import Path

import pytest
from directive_cases import changed_operators, rewritten_cases

from engine.directives.registry import DIRECTIVES
from engine.loader import parse_pipeline

PAGE = (Path(__file__).parents[3] / "docs" / "directives.md").read_text(encoding="utf-8")
SECTIONS = dict(part.split("\n", 1) for part in PAGE.split("\n### ")[1:])


def test_the_page_has_a_section_for_each_directive_in_order():
    titles = [f"`{one.name}`" + (f" (equation {one.equation})" if one.equation else "") for one in DIRECTIVES]
    assert list(SECTIONS) == titles


@pytest.mark.parametrize("case", rewritten_cases(), ids=str)
def test_a_section_shows_its_fixture(case):
    section = next(text for title, text in SECTIONS.items() if title.startswith(f"`{case.directive}`"))
    after = parse_pipeline(case.after).plan
    assert f"```yaml before\n{changed_operators(case.before, after)}```" in section
    assert f"```yaml after\n{changed_operators(after, case.before)}```" in section

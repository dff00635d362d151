"""Tables in groups: headings and rows below them, page by page; expected rows are those of invented_results."""

from __future__ import annotations

import pytest

from engine.errors import UsageError
from engine.results.sections import Grouping, Sections
from engine.results.shown import ShownHeading
from engine.results.table import ColumnFilter, Selection, result_view
from storage.case import Case

ANA = ShownHeading("Ana Ruiz", 3, is_folded=False)
DANIEL = ShownHeading("Daniel Harmon", 2, is_folded=False)
MICHAEL = ShownHeading("Michael Harmon", 1, is_folded=False)


def test_groups_with_most_rows_come_first_and_keep_the_order_of_their_rows(case: Case, run: str) -> None:
    sections = Sections(result_view(case, run), Selection(), Grouping("officer"))
    assert list(sections.lines(0, 100)) == [ANA, 2, 3, 5, DANIEL, 0, 1, MICHAEL, 4]
    assert (len(sections), sections.rows) == (9, 6)
    backwards = Selection(sort="date", descending=True)
    assert list(Sections(result_view(case, run), backwards, Grouping("officer")).lines(0, 4)) == [ANA, 5, 2, 3]


@pytest.mark.parametrize("limit", [1, 2, 4, 9])
def test_pages_of_any_size_make_the_whole(case: Case, run: str, limit: int) -> None:
    sections = Sections(result_view(case, run), Selection(), Grouping("officer", others=("Daniel Harmon",)))
    pages = [line for offset in range(0, 12, limit) for line in sections.lines(offset, limit)]
    assert pages == [ANA, 2, 3, 5, ShownHeading("Daniel Harmon", 2, is_folded=True), MICHAEL, 4]
    assert len(sections) == 7


def test_all_are_folded_but_some(case: Case, run: str) -> None:
    grouping = Grouping("officer", all_folded=True, others=("Michael Harmon",))
    lines = list(Sections(result_view(case, run), Selection(), grouping).lines(0, 100))
    assert [line.is_folded if isinstance(line, ShownHeading) else line for line in lines] == [True, True, False, 4]


def test_a_list_counts_for_each_item_and_an_empty_cell_has_a_group(case: Case, run: str) -> None:
    sections = Sections(result_view(case, run), Selection(), Grouping("acts"))
    assert list(sections.lines(0, 100)) == [
        ShownHeading("struck a man", 5, is_folded=False),
        *(0, 1, 2, 4, 5),
        ShownHeading("", 1, is_folded=False),
        3,
    ]


def test_only_what_fits_the_filters_is_grouped(case: Case, run: str) -> None:
    wanted = Selection(filters=(ColumnFilter("officer", "harmon"),))
    sections = Sections(result_view(case, run), wanted, Grouping("officer"))
    assert list(sections.lines(0, 100)) == [DANIEL, 0, 1, MICHAEL, 4]
    assert sections.rows == 3
    nothing = Selection(filters=(ColumnFilter("officer", "nobody"),))
    assert len(Sections(result_view(case, run), nothing, Grouping("officer"))) == 0
    with pytest.raises(UsageError, match="no column 'oficer'"):
        Sections(result_view(case, run), Selection(), Grouping("oficer"))

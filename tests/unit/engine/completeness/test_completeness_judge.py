"""Each sign of section 2.4 by itself, on small texts; the last page is kept from the model."""

from collections.abc import Sequence

import pytest

from engine.completeness.judge import CompletenessReport, judge_completeness
from engine.documents.document import Line
from engine.rows import Span


def _document(*pages: Sequence[str]) -> list[Line]:
    lines: list[Line] = []
    for page, texts in enumerate(pages, 1):
        lines += [Line(len(lines) + place, page, text) for place, text in enumerate(texts, 1)]
    return lines


def _pages(lines: Sequence[Line], first: int, last: int) -> list[Span]:
    numbers = [line.number for line in lines if first <= line.page <= last]
    return [Span(numbers[0], numbers[-1])]


def _judge(*pages: Sequence[str], items: Sequence[int | tuple[int, int]] = (), first: int = 1) -> CompletenessReport:
    lines = _document(*pages)
    spans = [[Span(item, item) if isinstance(item, int) else Span(*item)] for item in items]
    return judge_completeness(lines, _pages(lines, first, len(pages) - 1), spans)


_LIST = ("The policy does not cover:", "(a) war.", "(b) rot.")


@pytest.mark.parametrize(
    ("behind", "test", "strong"),
    [
        (["(c) rust."], "numbering", False),
        (["and its consequences in the same year,", "(c) rust."], "numbering", False),
        (["A note on rot stands here.", "(c) rust."], "numbering", False),
        (["5. Limits", "At most the sums in the schedule."], "heading", True),
        (["LIMITS", "At most the sums in the schedule."], "heading", True),
        (["EXCLUSIONS (continued)", "(c) rust."], "numbering", False),
        (["The policy covers:", "(a) fire.", "(b) hail."], "numbering", True),
        (["The company pays within a month."], "other_text", True),
    ],
)
def test_what_follows_a_list(behind: list[str], test: str, strong: bool) -> None:
    report = _judge(_LIST, behind, items=[2, 3])
    assert [finding.test for finding in report.findings] == [test]
    assert report.context_completeness_strong is strong


def test_the_list_around_it_goes_on() -> None:
    pages = ["3. Not covered are", "(a) war;", "(b) rot."], ["4. The company pays within a month."]
    inner = _judge(*pages, items=[2, 3])
    assert (inner.context_completeness_strong, inner.findings[0].test) == (True, "numbering")
    outer = _judge(["2. The premium is due monthly.", "3. The term is a year."], pages[1], items=[1, 2])
    assert outer.context_completeness_strong is False


def test_an_item_that_ends_as_one_does_that_others_follow() -> None:
    report = _judge(["Not covered are:", "(a) war;", "(b) rot; and"], ["The company pays."], items=[2, 3])
    assert [finding.test for finding in report.findings] == ["item_end"]
    assert report.context_completeness_strong is False


@pytest.mark.parametrize(
    ("lead", "strong"),
    [
        ("The following seven losses are not covered:", False),
        ("These three (3) losses are not covered:", False),
        ("The following two losses are not covered:", True),
        ("Not covered within seven days are the following:", True),
        ("It has five parts:", False),
    ],
)
def test_an_announced_count(lead: str, strong: bool) -> None:
    report = _judge([lead, "(a) war.", "(b) rot."], ["The company pays within a month."], items=[2, 3])
    assert report.context_completeness_strong is strong


def test_a_count_that_is_not_reached_before_a_heading_proves_nothing() -> None:
    report = _judge(["The following seven losses:", "(a) war.", "(b) rot."], ["5. Limits", "x."], items=[2, 3])
    assert report.context_completeness_strong is None
    assert [finding.reason for finding in report.findings] == [
        "a new heading bounds it: '5. Limits' on line 4",
        "the text announces 7 items; 2 stand in what was shown",
    ]


@pytest.mark.parametrize(
    ("end", "behind", "strong"),
    [
        ("The company pays the loss of the insured", "property up to the sums in the schedule.", False),
        ("The company pays the loss of the in-", "sured property.", False),
        ("The company pays the loss.", "Interest is not paid.", None),
        ("The company pays the loss.", "5. Limits", True),
        ("The company pays the following:", "War and rot are not covered.", False),
    ],
)
def test_plain_text(end: str, behind: str, strong: bool | None) -> None:
    report = _judge(["The insured property is the building.", end], [behind, "More."], items=[2])
    assert report.context_completeness_strong is strong


@pytest.mark.parametrize(
    ("row", "strong"), [("Roof   300   May", False), ("Item   Sum   Month", False), ("No sum is paid twice.", None)]
)
def test_a_table(row: str, strong: bool | None) -> None:
    rows = ["Item   Sum   Month", "Door   100   March", "Wall   200   April"]
    report = _judge(rows, [row, "Fence   400   June"], items=[(2, 3)])
    assert report.context_completeness_strong is strong


def test_a_list_shown_from_its_middle() -> None:
    report = _judge(["Not covered are:", "(a) war."], ["(b) rot.", "(c) rust."], ["LIMITS", "x"], items=[3, 4], first=2)
    assert [(finding.side, finding.verdict) for finding in report.findings] == [
        ("before", "truncated"),
        ("after", "bounded"),
    ]
    assert report.context_completeness_strong is False


def test_one_item_that_was_picked_from_a_list_is_bounded_by_the_next() -> None:
    assert _judge(_LIST, ["(c) rust."], items=[3]).context_completeness_strong is True
    assert _judge(_LIST[:2], ["(b) rot."], items=[2]).context_completeness_strong is False


def test_the_end_of_the_document() -> None:
    lines = _document(_LIST)
    report = judge_completeness(lines, _pages(lines, 1, 1), [[Span(2, 2)], [Span(3, 3)]])
    assert report.context_completeness_strong is True
    assert [finding.test for finding in report.findings] == ["document_end"]


def test_what_is_cited_ends_inside() -> None:
    report = _judge([*_LIST, "LIMITS", "At most 100."], ["The company pays."], items=[2, 3])
    assert (report.context_completeness_strong, report.findings[0].lines) == (True, Span(4, 4))


def test_a_page_that_is_next_to_empty_is_not_the_overlap() -> None:
    lines = _document(_LIST, ["A stamp."], ["(c) rust.", "LIMITS", "x"], ["y"])
    report = judge_completeness(lines, _pages(lines, 1, 1), [[Span(2, 2)], [Span(3, 3)]])
    assert (report.context_completeness_strong, report.findings[0].lines) == (False, Span(5, 5))


@pytest.mark.parametrize(("behind", "strong"), [("The fee is paid once.", None), ("IN WITNESS WHEREOF, signed", True)])
def test_text_behind_sections_with_titles(behind: str, strong: bool | None) -> None:
    report = _judge(["1. Fees", "As agreed.", "2. Term", "One year."], [behind], items=[(1, 2), (3, 4)])
    assert report.context_completeness_strong is strong


_HEAD = "Town of Elmwood Records"


def test_nothing_but_a_running_head_was_shown() -> None:
    lines = _document([_HEAD, "The fee is paid once."], [_HEAD], [_HEAD, "It is due in May."], [_HEAD, "It is small."])
    report = judge_completeness(lines, _pages(lines, 2, 2), [[Span(3, 3)]])
    assert (report.context_completeness_strong, report.findings) == (None, ())


def test_a_running_head_shown_behind_a_list_says_nothing_of_its_end() -> None:
    behind = [_HEAD, "The company pays within a month."]
    lines = _document([_HEAD, "(a) war.", "(b) rot."], [_HEAD], behind, [_HEAD, "It is small."])
    report = judge_completeness(lines, [Span(2, 3), Span(5, 5)], [[Span(2, 2)], [Span(3, 3)], [Span(5, 5)]])
    assert [(f.test, f.lines) for f in report.findings if f.side == "after"] == [("other_text", Span(6, 8))]


_APART = ("LIMITS", "The company pays within a month.", "It pays no interest.", "DUTIES", "The premium is due in May.")


@pytest.mark.parametrize(
    ("more", "ends", "strong"),
    [
        ([], [("heading", 4), ("other_text", 6)], True),
        (["(c) rust."], [("numbering", 4), ("other_text", 7)], False),
    ],
)
def test_each_run_of_lines_that_is_cited_is_judged(more: list[str], ends: list[tuple[str, int]], strong: bool) -> None:
    lines, limits = _document([*_LIST, *more, *_APART]), 4 + len(more)
    items = [[Span(2, 2)], [Span(3, 3)], [Span(limits + 1, limits + 1)]]
    report = judge_completeness(lines, [Span(1, 3), Span(limits + 1, limits + 2)], items)
    assert [(finding.test, finding.lines) for finding in report.findings] == [(t, Span(at, at)) for t, at in ends]
    assert report.context_completeness_strong is strong


@pytest.mark.parametrize("shown", [[Span(1, 3)], [Span(1, 2), Span(3, 3)], [Span(1, 2), Span(2, 3), Span(9, 9)]])
def test_lines_that_touch_are_shown_as_one_and_lines_that_are_not_there_as_none(shown: list[Span]) -> None:
    report = judge_completeness(_document([*_LIST, "(c) rust."]), shown, [[Span(2, 2)], [Span(3, 3)]])
    assert [(finding.test, finding.lines) for finding in report.findings] == [("numbering", Span(4, 4))]


def test_nothing_is_claimed_where_nothing_was_shown() -> None:
    for shown in ([], [Span(9, 9)]):
        report = judge_completeness(_document(_LIST), shown, [[Span(2, 2)]])
        assert (report.context_completeness_strong, report.findings) == (None, ())

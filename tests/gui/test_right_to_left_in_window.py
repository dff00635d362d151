"""Hebrew and Arabic in the window: found, shown from the right, marked and selected where the words stand."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pymupdf
import pytest
from gui_places import open_case, place_of
from gui_waiting import WAIT
from PySide6.QtGui import QColor, QFont
from pytestqt.qtbot import QtBot

from desktop.hits_view import line_of_hit
from desktop.page_view import Box, PageView, Spot, Stretch, boxes_of, lay_out, spot_in, text_of, words_between
from desktop.places.documents import DocumentsPlace
from desktop.text_shape import reads_from_right
from desktop.window import MainWindow
from engine.documents.options import ParseOptions
from engine.executor.sources import ingest
from storage.case import Case

HEBREW = "הקצין יוסי כהן היכה את העצור ב-3 במאי 2021."
FIRST, SECOND, LAST = "הקצין", "יוסי", "2021."
ARABIC = "ضرب أحمد منصور حسن في 3 مايو 2021."
MIXED = f"An English line with {SECOND} inside"
BOX: Box = (100.0, 10.0, 400.0, 22.0)


def test_the_first_letter_says_from_where_a_text_is_read() -> None:
    assert [reads_from_right(text) for text in (HEBREW, ARABIC, f"3 {HEBREW}", MIXED, "2021.", "")] == [
        True,
        True,
        True,
        False,
        False,
        False,
    ]


def test_a_text_begins_at_the_right_and_its_words_are_marked_where_they_stand(qtbot: QtBot) -> None:
    view = PageView()
    qtbot.addWidget(view)
    lines, width, height = lay_out([(1, HEBREW, None), (2, MIXED, None), (3, "Plain words.", None)], 600.0)
    view.show_page(width, height, lines, is_text=True)
    hebrew, mixed, plain = (line.box for line in lines)
    assert hebrew[2] == width - plain[0]  # as far from the right edge as the others from the left one
    assert plain[0] == mixed[0]
    (first,), (second,), (last,) = (view.boxes_of_words([1], word) for word in (FIRST, SECOND, LAST))
    assert abs(first[2] - hebrew[2]) <= 1
    assert abs(last[0] - hebrew[0]) <= 1
    assert last[2] < second[0] < second[2] < first[0]
    (inside,) = view.boxes_of_words([2], SECOND)
    assert mixed[0] < inside[0] < inside[2] < mixed[2]


def test_a_click_at_the_right_finds_the_first_word(qtbot: QtBot) -> None:
    assert spot_in(HEBREW, BOX, 0, 399.0) == Spot(0, 0)
    assert spot_in(HEBREW, BOX, 0, 101.0) == Spot(0, len(HEBREW))
    stretch = words_between([HEBREW], spot_in(HEBREW, BOX, 0, 398.0), spot_in(HEBREW, BOX, 0, 390.0))
    assert text_of([HEBREW], stretch) == FIRST
    ((x0, _, x1, _),) = boxes_of([HEBREW], [BOX], stretch)
    assert 100.0 < x0 < x1 == pytest.approx(400.0)
    ((x0, _, x1, _),) = boxes_of([HEBREW], [BOX], Stretch(Spot(0, 0), Spot(0, len(HEBREW))))
    assert (x0, x1) == pytest.approx((100.0, 400.0))


def test_a_line_found_is_set_whole_and_its_hit_has_a_ground(qtbot: QtBot) -> None:
    before, behind = HEBREW.split(SECOND)
    layout, marks = line_of_hit([(before, False), (SECOND, True), (behind, False)], QFont(), QColor("yellow"))
    assert layout.text() == HEBREW
    assert [(mark.start, mark.length) for mark in marks] == [(len(before), len(SECOND))]
    astral, ends = line_of_hit([("\U0001f600 ", False), ("word", True)], QFont(), QColor("yellow"))
    assert [(mark.start, mark.length) for mark in ends] == [(3, 4)]  # as Qt counts: the face is two
    assert astral.text() == "\U0001f600 word"
    assert layout.lineAt(0).cursorToX(0)[0] > layout.lineAt(0).cursorToX(len(HEBREW))[0]


def test_a_word_leads_to_its_line_in_a_pdf(qtbot: QtBot, window: MainWindow, tmp_path: Path) -> None:
    records = tmp_path / "records"
    records.mkdir()
    with pymupdf.open() as pdf:
        html = f'<p dir="rtl">{HEBREW}</p><p dir="rtl">{ARABIC}</p><p>An English line.</p>'
        pdf.new_page().insert_htmlbox(pymupdf.Rect(72, 72, 523, 200), html)
        pdf.save(records / "letter.pdf")
    with Case(tmp_path / "c.redwell") as case:
        asyncio.run(ingest(records, case, lambda event: None, dataset="r", options=ParseOptions(), workers=1))
    open_case(qtbot, window, tmp_path / "c.redwell")
    window.go_to("Documents")
    place = place_of(window, DocumentsPlace)
    place.words.setText("منصور")
    qtbot.waitUntil(lambda: place.hits.hits.rowCount() == 1, timeout=WAIT)
    with qtbot.waitSignal(place.viewer.page_shown, timeout=WAIT):
        place.hits.activated.emit(place.hits.hits.index(0, 0))
    assert [line.text for line in place.viewer.view.lines] == [HEBREW, ARABIC, "An English line."]
    (marked,) = place.viewer.view._marks["evidence"]._boxes
    assert marked == place.viewer.view.lines[1].box
    assert marked[2] == pytest.approx(522.0, abs=2.0)  # it begins at the right edge of its box
    assert marked[0] > 250
    place.viewer.look_for(SECOND)
    qtbot.waitUntil(lambda: place.viewer.view.marked("found") == 1, timeout=WAIT)
    assert place.viewer.view._marks["found"]._boxes == [place.viewer.view.lines[0].box]

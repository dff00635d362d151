"""Nothing is cut off at 1280 x 720, also on screens of twice the resolution; texts can be told from their ground."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from cut_off import cut_off_when_laid_out
from gui_places import open_case, place_of
from gui_waiting import WAIT
from invented_results import make_results
from PySide6.QtCore import Qt
from PySide6.QtGui import QColor, QFontMetricsF, QGuiApplication, QPalette
from PySide6.QtWidgets import QApplication, QLabel, QMenu, QPlainTextEdit, QTableView
from pytestqt.qtbot import QtBot

from desktop.improve.scatter import Scatter
from desktop.network_view import _SEEN as LINK
from desktop.places.documents import DocumentsPlace
from desktop.places.export import ExportPlace
from desktop.places.question import QuestionPlace
from desktop.places.results import ResultsPlace
from desktop.places.start import StartPlace
from desktop.theme import THEMES, Theme, colours_of, palette_of
from desktop.window import MainWindow

ROOT = Path(__file__).resolve().parents[2]
SCALE = os.environ.get("QT_SCALE_FACTOR", "1")
AA, AAA = 4.5, 7.0
"""Contrast that WCAG 2.2 asks of text, 1.4.3 and 1.4.6."""
GRAPHICS = 3.0
"""Of what is no text, 1.4.11."""


@pytest.fixture(autouse=True)
def machine(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Have Start look at a machine without models: what is missing has a button, and so takes most room."""
    monkeypatch.setenv("REDWELL_CACHE", str(tmp_path / "cache"))


@pytest.fixture
def filled(qtbot: QtBot, window: MainWindow, tmp_path: Path) -> MainWindow:
    """The window with results in it, a page and a question open."""
    path, _ = make_results(tmp_path / "made")
    open_case(qtbot, window, path)
    documents = place_of(window, DocumentsPlace)
    qtbot.waitUntil(lambda: documents.model.row(0) is not None, timeout=WAIT)
    with qtbot.waitSignal(documents.viewer.page_shown, timeout=WAIT):
        documents.show_document(documents.model.row(0).id)
    window.go_to("Question")
    question = place_of(window, QuestionPlace)
    qtbot.waitUntil(lambda: question.begin.templates.count() > 0, timeout=WAIT)
    question.begin.templates.itemClicked.emit(question.begin.templates.item(0))
    qtbot.waitUntil(question.begin.ask.proposed.isVisible, timeout=WAIT)
    question.begin.ask.edit.click()
    qtbot.waitUntil(lambda: len(question.cards.cards) > 3, timeout=WAIT)
    window.go_to("Results")
    results = place_of(window, ResultsPlace)
    qtbot.waitUntil(lambda: results.model.row(0) is not None, timeout=WAIT)
    results.groups.choose("officer")
    results.open_evidence()
    return window


@pytest.mark.parametrize("letters", [1.0, 1.15])
def test_nothing_is_cut_off(qtbot: QtBot, filled: MainWindow, letters: float) -> None:
    filled.set_font_scale(letters)
    filled.resize(1280, 720)
    assert filled.devicePixelRatioF() == float(SCALE)
    question = place_of(filled, QuestionPlace)
    filled.go_to("Question")
    question.show_table()
    qtbot.waitUntil(lambda: "document" in question.begin.ask.estimate.text(), timeout=WAIT)
    found = {"the table of a question": cut} if (cut := cut_off_when_laid_out(qtbot, filled)) else {}
    question.begin.ask.edit.click()
    qtbot.waitUntil(lambda: question.shows_steps, timeout=WAIT)
    for place in filled.places:
        filled.go_to(place.name)
        assert filled.current is place
        if isinstance(place, StartPlace):
            qtbot.waitUntil(lambda start=place: start._asked, timeout=WAIT)  # type: ignore[misc]
        qtbot.waitUntil(lambda: not filled.workspace.client.waiting, timeout=WAIT)
        if cut := cut_off_when_laid_out(qtbot, filled):
            found[place.name] = cut
    filled.set_font_scale(1.0)
    assert found == {}
    assert (filled.width(), filled.height()) == (1280, 720)


def test_nothing_is_cut_off_at_200_percent() -> None:
    this = f"{Path(__file__).relative_to(ROOT)}::test_nothing_is_cut_off[1.0]"
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", this]
    doubled = {**os.environ, "QT_SCALE_FACTOR": "2"}
    done = subprocess.run(command, cwd=ROOT, env=doubled, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stdout[-4000:]


def test_larger_letters_have_room(qtbot: QtBot, filled: MainWindow) -> None:
    results = place_of(filled, ResultsPlace)
    timeline, chart = results.parts.timeline.view, results.charts.chart
    results.parts.open_tab(results.parts.timeline)
    qtbot.waitUntil(lambda: bool(timeline.moments), timeout=WAIT)
    results.parts.open_tab(results.parts.charts)
    qtbot.waitUntil(lambda: bool(chart.chart.marks), timeout=WAIT)
    scatter = filled.findChild(Scatter)
    before = chart.minimumHeight(), timeline.minimumHeight()
    filled.set_font_scale(2.0)
    qtbot.wait(50)
    high = QFontMetricsF(filled.font()).height()
    tables = {
        table.accessibleName(): table.verticalHeader().defaultSectionSize() for table in filled.findChildren(QTableView)
    }
    lines = {"bar": chart._area(0, 600.0).height(), "moment": timeline.drawing.area(0, 600.0).height()}
    lines["axis of plans"] = scatter.line
    sizes = {edit.accessibleName(): edit.font().pointSizeF() for edit in filled.findChildren(QPlainTextEdit)}
    wanted, after = QApplication.font().pointSizeF(), (chart.minimumHeight(), timeline.minimumHeight())
    filled.set_font_scale(1.0)
    qtbot.wait(50)
    assert {name: size for name, size in (tables | lines).items() if size < high} == {}
    assert {"Results", "Pinned columns", "What failed or was left out", "Documents"} <= tables.keys()
    assert {name: size for name, size in sizes.items() if size != pytest.approx(wanted)} == {}
    assert "YAML of the pipeline" in sizes
    assert after > before == (chart.minimumHeight(), timeline.minimumHeight())


@pytest.mark.parametrize("name", ["Start", "Question"])
def test_entries_of_two_lines_have_room_when_letters_become_larger(qtbot: QtBot, opened: MainWindow, name: str) -> None:
    opened.go_to(name)
    question = place_of(opened, QuestionPlace)
    entries = place_of(opened, StartPlace)._recent if name == "Start" else question.begin.templates
    qtbot.waitUntil(lambda: entries.count() > 0, timeout=WAIT)
    opened.set_font_scale(2.0)
    qtbot.wait(50)
    high, wanted = entries.visualItemRect(entries.item(0)).height(), 2 * entries.fontMetrics().lineSpacing()
    opened.set_font_scale(1.0)
    qtbot.wait(50)
    assert high >= wanted


def test_the_names_of_places_have_room_for_large_letters(qtbot: QtBot, window: MainWindow) -> None:
    side, before = window._side, window._side.width()
    window.set_font_scale(2.0)
    qtbot.wait(50)
    letters = side.fontMetrics()
    rooms: dict[str, tuple[int, int, int]] = {}
    for row in (row for row in range(side.count()) if not side.item(row).isHidden()):
        area = side.visualItemRect(side.item(row))
        rooms[side.item(row).text()] = (area.width() - side.iconSize().width(), area.height(), area.right())
    seen, wanted = side.viewport().width(), {name: letters.horizontalAdvance(name) for name in rooms}
    high = letters.height()
    window.set_font_scale(1.0)
    qtbot.wait(50)
    cut = {name: room for name, room in rooms.items() if room[0] <= wanted[name] or room[1] <= high or room[2] > seen}
    assert cut == {}
    assert side.width() == before


def test_the_colours_of_the_system_are_followed_while_they_are_wanted(
    window: MainWindow, monkeypatch: pytest.MonkeyPatch
) -> None:
    hints, drawn = QGuiApplication.styleHints(), []
    window.set_theme("light")
    monkeypatch.setattr(window, "_redraw", lambda: drawn.append("again"))
    hints.colorSchemeChanged.emit(Qt.ColorScheme.Dark)
    assert drawn == []
    window.workspace.settings.setValue("theme", "system")
    hints.colorSchemeChanged.emit(Qt.ColorScheme.Dark)
    assert len(drawn) == 1
    hints.accessibility().contrastPreferenceChanged.emit(Qt.ContrastPreference.HighContrast)
    assert len(drawn) == 2


def test_the_icons_of_all_menus_take_the_colours_of_another_theme(window: MainWindow) -> None:
    menus = window.findChildren(QMenu)
    actions = [action for menu in menus for action in menu.actions() if not action.icon().isNull()]
    assert {"A folder…", "&Commands…"} <= {action.text() for action in actions}
    window.set_theme("dark")
    dark = {action.icon().cacheKey() for action in actions}
    window.set_theme("light")
    assert dark.isdisjoint({action.icon().cacheKey() for action in actions})


@pytest.mark.parametrize("theme", THEMES)
def test_texts_can_be_told_from_their_ground(qapp: QApplication, theme: Theme) -> None:
    colours = colours_of(theme)
    wanted = AAA if theme == "contrast" else AA
    for ground in (colours.window, colours.base, colours.other):
        assert contrast(colours.text, ground) >= wanted
        assert contrast(colours.faint, ground) >= wanted
        assert contrast(colours.problem, ground) >= wanted
        assert contrast(colours.accent, ground) >= (wanted if theme == "contrast" else 3.0)  # 1.4.11: not text
    assert contrast(colours.chosen, colours.accent) >= wanted


@pytest.mark.parametrize("theme", THEMES[1:])
def test_what_is_only_said_can_be_read_in_every_place(qtbot: QtBot, filled: MainWindow, theme: Theme) -> None:
    filled.set_theme(theme)
    qtbot.wait(50)  # palettes come with the event loop
    export = place_of(filled, ExportPlace)
    question = place_of(filled, QuestionPlace)
    filled.go_to("Question")
    question.cards.open_card("list_officers")
    wanted = AAA if theme == "contrast" else AA
    faint: set[str] = set()
    for place in filled.places:
        filled.go_to(place.name)
        qtbot.waitUntil(lambda: not filled.workspace.client.waiting, timeout=WAIT)
        qtbot.wait(50)
        if place is export:
            export.hidden_note.setText("One row rests on text that no page shows.")
            export.hidden_note.show()
        for label in place.findChildren(QLabel):
            is_of_a_control = label.buddy() is not None or not label.parentWidget().isEnabled()
            if not label.isVisible() or not label.text().strip() or is_of_a_control:
                continue
            assert not label.styleSheet()  # its colour would stay when the theme changes
            colour = label.palette().color(label.palette().currentColorGroup(), label.foregroundRole())
            if contrast(colour.name(), colours_of(theme).window) < wanted or colour.alpha() < 255:
                faint.add(f"{place.name}: {label.text()[:40]!r}")
    assert faint == set()


def test_what_is_disabled_can_be_read_in_high_contrast(qapp: QApplication) -> None:
    colours = colours_of("contrast")
    palette = palette_of(colours)
    disabled = palette.color(QPalette.ColorGroup.Disabled, QPalette.ColorRole.WindowText)
    assert contrast(disabled.name(), colours.window) >= AA


@pytest.mark.parametrize("theme", THEMES[1:])
def test_links_of_a_small_network_can_be_seen(qapp: QApplication, theme: Theme) -> None:
    ink, ground = QColor(colours_of(theme).text), QColor(colours_of(theme).base)
    mixed = [round(a * LINK + b * (1 - LINK)) for a, b in zip(ink.getRgb()[:3], ground.getRgb()[:3], strict=True)]
    assert contrast(QColor(*mixed).name(), ground.name()) >= GRAPHICS


def contrast(one: str, other: str) -> float:
    """Return the contrast ratio of WCAG 2.2, from 1 to 21."""
    lighter, darker = sorted((luminance(QColor(one)), luminance(QColor(other))), reverse=True)
    return (lighter + 0.05) / (darker + 0.05)


def luminance(colour: QColor) -> float:
    parts = (colour.redF(), colour.greenF(), colour.blueF())
    red, green, blue = (part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def test_every_place_fits_a_full_hd_screen_at_200_percent(filled: MainWindow) -> None:
    # 1920 x 1080 pixels are 960 x 540 points then, of which a task bar and a title bar take some.
    window = filled
    window.resize(900, 460)
    for place in window.places:
        window.go_to(place.name)
        QApplication.processEvents()
        assert (window.width(), window.height()) == (900, 460), place.name

"""Colours, icons and the size of letters: Qt's own widgets in light or dark, with one accent colour."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Final, Literal

from PySide6.QtCore import QByteArray, QRectF, QSettings, QSize, Qt
from PySide6.QtGui import QAction, QColor, QFont, QFontDatabase, QGuiApplication, QIcon, QPainter, QPalette, QPixmap
from PySide6.QtSvg import QSvgRenderer
from PySide6.QtWidgets import QAbstractButton, QApplication, QListWidget, QListWidgetItem

Theme = Literal["system", "light", "dark", "contrast"]
"""`contrast` is black on white; `system` takes high contrast too, light or dark, where a person has asked for it."""
THEMES: Final[tuple[Theme, ...]] = ("system", "light", "dark", "contrast")
THEME_NAMES: Final[Mapping[Theme, str]] = {
    "system": "Same as the system",
    "light": "Light",
    "dark": "Dark",
    "contrast": "High contrast",
}
FONT_SCALES: Final = (0.9, 1.0, 1.15, 1.3, 1.6, 2.0)

HIT = {False: "#ffe08a", True: "#6b5310"}
"""Behind words that were looked for."""


@dataclass(frozen=True, slots=True)
class Colours:
    """What a palette is made of. `faint` is read too, `disabled` need not be; `chosen` is text on the accent.

    `problem` is text that warns (the role BrightText, which Qt's own widgets leave alone).
    """

    window: str
    base: str
    other: str
    text: str
    faint: str
    disabled: str
    accent: str
    chosen: str
    problem: str


_PLAIN: Final = {
    False: Colours("#f4f4f2", "#ffffff", "#f8f8f6", "#1c1c1a", "#5f5f5b", "#965f5f5b", "#1b5fa8", "#ffffff", "#b02a1e"),
    True: Colours("#232427", "#303237", "#2a2c30", "#ececea", "#a5a5a0", "#96a5a5a0", "#5aa2e6", "#0b0b0b", "#f2a09a"),
}
_CONTRAST: Final = {
    False: Colours("#ffffff", "#ffffff", "#ffffff", "#000000", "#222222", "#555555", "#00309e", "#ffffff", "#8c0000"),
    True: Colours("#000000", "#000000", "#000000", "#ffffff", "#dddddd", "#aaaaaa", "#ffd800", "#000000", "#ffb4ab"),
}
"""By whether they are dark."""
_ICONS = Path(__file__).parent / "icons"
_ICON_SIZES = (16, 20, 24, 32, 40, 48)


def apply_theme(app: QApplication, theme: Theme, font_scale: float = 1.0) -> None:
    """Give the app its colours and its letters; `font_scale` multiplies the size the system has chosen."""
    if app.style().name() != "fusion":  # to set it again takes 40 ms
        app.setStyle("Fusion")
    app.setPalette(palette_of(colours_of(theme)))
    base = app.property("systemPointSize") or app.font().pointSizeF()
    app.setProperty("systemPointSize", base)
    font = app.font()
    font.setPointSizeF(max(float(base) * font_scale, 1.0))
    app.setFont(font)
    _draw_icons_anew(app)


def theme_of(settings: QSettings) -> Theme:
    """Read the theme that a person has chosen, the system's where there is none that we know."""
    chosen = settings.value("theme", "system")
    return next((known for known in THEMES if known == chosen), "system")


def when_system_changes(redraw: Callable[[], object]) -> None:
    """Call a method of a window when the system becomes light or dark, or a person asks it for high contrast."""
    hints = QGuiApplication.styleHints()
    for changed in (hints.colorSchemeChanged, hints.accessibility().contrastPreferenceChanged):
        changed.connect(redraw)


def fixed_font() -> QFont:
    """Return letters of equal width; a widget shows them in the size of the app's, whatever that becomes."""
    font = QFont()  # which says nothing of its size
    font.setFamilies(QFontDatabase.systemFont(QFontDatabase.SystemFont.FixedFont).families())
    font.setStyleHint(QFont.StyleHint.Monospace)
    return font


def is_dark() -> bool:
    """Say whether the app is dark now."""
    return QGuiApplication.palette().color(QPalette.ColorRole.Window).lightness() < 128


def hit_colour() -> QColor:
    """Return the colour behind words that were looked for."""
    return QColor(HIT[is_dark()])


def icon(name: str) -> QIcon:
    """Return one of our icons in the text colour; shown icons are redrawn when the theme changes."""
    palette = QGuiApplication.palette()
    return _drawn(name, tuple(palette.color(group, role).name() for _, group, role in _MODES))


@lru_cache(maxsize=512)
def _drawn(name: str, colours: tuple[str, ...]) -> QIcon:
    source = (_ICONS / f"{name}.svg").read_text(encoding="utf-8")
    picture = QIcon()
    for (mode, _, _), colour in zip(_MODES, colours, strict=True):
        renderer = QSvgRenderer(QByteArray(source.replace("currentColor", colour).encode()))
        for size in _ICON_SIZES:
            pixmap = QPixmap(QSize(size, size))
            pixmap.fill(Qt.GlobalColor.transparent)
            painter = QPainter(pixmap)
            renderer.render(painter, QRectF(0, 0, size, size))
            painter.end()
            picture.addPixmap(pixmap, mode)
    _names[picture.cacheKey()] = name
    return picture


def _draw_icons_anew(app: QApplication) -> None:
    """Redraw our icons on buttons, actions and list entries in the current colours."""
    for widget in app.allWidgets():
        drawn: list[QAbstractButton | QAction | QListWidgetItem] = [*widget.actions()]
        if isinstance(widget, QAbstractButton):
            drawn.append(widget)
        elif isinstance(widget, QListWidget):
            drawn += map(widget.item, range(widget.count()))
        for each in drawn:
            if name := _names.get(each.icon().cacheKey()):
                each.setIcon(icon(name))


_names: dict[int, str] = {}
"""What icon a QIcon is, by its cache key, which copies share."""

_DISABLED = QPalette.ColorGroup.Disabled
_MODES = (
    (QIcon.Mode.Normal, QPalette.ColorGroup.Active, QPalette.ColorRole.WindowText),
    (QIcon.Mode.Selected, QPalette.ColorGroup.Active, QPalette.ColorRole.HighlightedText),
    (QIcon.Mode.Disabled, _DISABLED, QPalette.ColorRole.WindowText),
)


def colours_of(theme: Theme) -> Colours:
    """Return the colours of a theme; those of `system` depend on what the system says now."""
    hints = QGuiApplication.styleHints()
    if theme != "system":
        return _CONTRAST[False] if theme == "contrast" else _PLAIN[theme == "dark"]
    wants_contrast = hints.accessibility().contrastPreference() == Qt.ContrastPreference.HighContrast
    return (_CONTRAST if wants_contrast else _PLAIN)[hints.colorScheme() == Qt.ColorScheme.Dark]


def palette_of(colours: Colours) -> QPalette:
    """Make the palette of Qt's widgets."""
    role = QPalette.ColorRole
    palette = QPalette(QColor(colours.window))
    for which, colour in (
        (role.Window, colours.window),
        (role.WindowText, colours.text),
        (role.Base, colours.base),
        (role.AlternateBase, colours.other),
        (role.Text, colours.text),
        (role.Button, colours.window),
        (role.ButtonText, colours.text),
        (role.ToolTipBase, colours.base),
        (role.ToolTipText, colours.text),
        (role.PlaceholderText, colours.faint),
        (role.BrightText, colours.problem),
        (role.Highlight, colours.accent),
        (role.HighlightedText, colours.chosen),
        (role.Accent, colours.accent),
        (role.Link, colours.accent),
    ):
        palette.setColor(which, QColor(colour))
    for which in (role.WindowText, role.Text, role.ButtonText):
        palette.setColor(_DISABLED, which, QColor(colours.disabled))
    return palette

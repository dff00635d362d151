"""What is known of a model, as columns of a table and as a list of facts."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QGridLayout, QLabel, QWidget

from desktop.rows_model import Column
from desktop.words import size_text

_TITLES: Final = {
    "purpose": "For",
    "why": "On this computer",
    "speed": "Speed",
    "origin": "From",
    "licence": "Licence",
    "sha256": "SHA-256",
    "path": "Place",
}


def speed_text(row: Mapping[str, Any]) -> str:
    """Write how fast a model reads and writes, as far as that is known."""
    speed = row["speed"]
    if speed is None:
        return ""
    mark = "~" if speed["is_estimated"] else ""
    return f"{mark}{speed['read_tokens_per_second']:,.0f} / {mark}{speed['written_tokens_per_second']:,.0f}"


def speed_tip(row: Mapping[str, Any]) -> str:
    """Say where the speed is from."""
    speed = row["speed"]
    if speed is None:
        return "Not known: measure the speed."
    if speed["is_estimated"]:
        return f"Estimated by size from {speed['estimated_from']}; tokens a second read / written"
    return f"Measured {speed['measured_at'][:10]}; tokens a second read / written, several replies at once"


def state_text(row: Mapping[str, Any]) -> str:
    """Say whether a model is here, and whether it is the default."""
    if not row["installed"]:
        return "not installed"
    return "default" if row["is_default"] else "installed"


COLUMNS = (
    Column("Model", lambda row: str(row["title"]), tip=lambda row: str(row["purpose"])),
    Column("State", state_text),
    Column("On this computer", lambda row: str(row["verdict"]), tip=lambda row: f"{row['verdict']}: {row['why']}"),
    Column("Tokens/s", speed_text, is_right=True, tip=speed_tip),
    Column("Size", lambda row: size_text(row["bytes"]), is_right=True),
    Column("Licence", lambda row: str(row["licence"])),
)


class ModelDetails(QWidget):
    """All that is known of one model; every fact can be selected and copied."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        grid = QGridLayout(self)
        grid.setContentsMargins(0, 0, 0, 0)
        grid.setColumnStretch(1, 1)
        self._facts: dict[str, QLabel] = {}
        for place, (key, title) in enumerate(_TITLES.items()):
            fact = QLabel(wordWrap=True, textFormat=Qt.TextFormat.PlainText)
            fact.setAccessibleName(title)
            fact.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
            grid.addWidget(QLabel(title, textFormat=Qt.TextFormat.PlainText), place, 0, Qt.AlignmentFlag.AlignTop)
            grid.addWidget(fact, place, 1)
            self._facts[key] = fact

    def show_model(self, row: Mapping[str, Any]) -> None:
        """Show a model (engine.worker.model_facts)."""
        made = f"{row['made_by']}, {row['source']}" if row["made_by"] else row["source"]
        context = f" Its context is {row['context_tokens']:,} tokens." if row["context_tokens"] else ""
        facts = {
            "purpose": row["purpose"],
            "why": f"{row['verdict']}: {row['why']}.{context}" if row["why"] else row["verdict"],
            "speed": f"{speed_text(row)}  {speed_tip(row)}".strip(),
            "origin": made,
            "licence": row["licence"],
            "sha256": row["sha256"] or "not taken yet: choose Verify",
            "path": row["path"] if row["installed"] else "",
        }
        for key, text in facts.items():
            self._facts[key].setText(text)

    def text_of(self, key: str) -> str:
        """Return a fact as it is shown: purpose, why, speed, origin, licence, sha256 or path."""
        return self._facts[key].text()

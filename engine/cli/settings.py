"""What all commands have in common."""

from __future__ import annotations

from typing import Any

COMMAND_SETTINGS: dict[str, Any] = {
    "add_completion": False,
    "pretty_exceptions_enable": False,
    "rich_markup_mode": "markdown",  # flows docstrings anew; the usual mode keeps their line ends
}
"""Settings of every command's Typer app."""

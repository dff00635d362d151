"""What is no Python and belongs into the package: a pattern of pyproject.toml takes every such file."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]
ROOMS = ("engine", "models", "storage", "desktop")


@pytest.mark.parametrize("room", ROOMS)
def test_every_prompt_template_and_icon_is_packaged(room: str) -> None:
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    patterns = settings["tool"]["setuptools"]["package-data"].get(room, [])
    packaged = {path for pattern in patterns for path in (ROOT / room).glob(pattern)}
    kinds = (".jinja", ".yaml", ".html", ".svg", ".toml", ".sql", ".pyi")
    needed = {path for path in (ROOT / room).rglob("*") if path.suffix in kinds}
    assert needed - packaged == set()

"""What a benchmark needs: it is skipped where the data or the model is not on this machine."""

from __future__ import annotations

from typing import Any

import pytest
from evaluation.task import read_lines
from shared_data import DATA

from models.errors import ModelError
from models.install import InstalledModel, find_model


def shared_rows(name: str) -> list[dict[str, Any]]:
    """Read rows of the shared data."""
    if not (DATA / name).is_file():
        pytest.skip(f"{DATA / name}: not there; this data is not part of the repository")
    return read_lines(DATA / name)


def installed(name: str) -> InstalledModel:
    """Find a model."""
    try:
        return find_model(name)
    except ModelError as error:
        pytest.skip(str(error))

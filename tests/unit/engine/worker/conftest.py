"""Scripted models and a small folder of records."""

from __future__ import annotations

import sys
from pathlib import Path

FIXTURES = str(Path(__file__).resolve().parents[3] / "fixtures")
if FIXTURES not in sys.path:
    sys.path.insert(0, FIXTURES)

"""Make the engine, and what stands in for a model in the tests of operators, importable from every benchmark."""

import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT), str(ROOT / "tests" / "unit" / "engine" / "operators")]

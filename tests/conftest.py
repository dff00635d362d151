"""Make the modules of tests/fixtures importable from every test, whatever folder it lies in."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent / "fixtures"))

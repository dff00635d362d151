"""Where the sets of `../shared/data` are, which a user's clone does not have."""

from pathlib import Path
from typing import Final

DATA: Final = Path(__file__).resolve().parents[3] / "shared" / "data"

"""sqlite-utils without pandas, which it loads where that is installed, for a quarter of a second and for nothing."""

from __future__ import annotations

import sys

_missing = object()
_before = sys.modules.get("pandas", _missing)
if _before is _missing:
    sys.modules["pandas"] = None  # type: ignore[assignment]  # `import pandas` fails, which sqlite-utils expects
try:
    from sqlite_utils import Database
    from sqlite_utils.migrations import Migrations
finally:
    if _before is _missing:
        del sys.modules["pandas"]

__all__ = ["Database", "Migrations"]

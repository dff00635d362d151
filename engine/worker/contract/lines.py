"""How long a line to the worker may be."""

from __future__ import annotations

from typing import Final

LONGEST_LINE: Final = 1 << 20
"""Characters of one command, with the end of its line; a longer one is answered by an error that names no command."""

"""What the worker answers and tells, as frozen dataclasses that it and the window both import.

A module a topic: the answers' dataclasses, and each query by its name with the type of its answer. Its `__all__` names
what it passes on from other modules. Importing this loads neither the engine's work nor a library: the window's start
waits for it (tests/unit/engine/worker/test_contract.py).
"""

from typing import Final

from engine.worker.contract.query import Query

__all__ = ["LONGEST_LINE", "Query"]

LONGEST_LINE: Final = 1 << 20
"""Characters of one command, with the end of its line; a longer one is answered by an error that names no command."""

"""What the worker answers and tells, as frozen dataclasses that it and the window both import.

A module a topic: the answers' dataclasses, and each query by its name with the type of its answer. Importing this loads
neither the engine's work nor a library: the window's start waits for it (tests/unit/engine/worker/test_contract.py).
"""

from engine.worker.contract.query import Query

__all__ = ["Query"]

"""Fuzzing of all that reads what a stranger made: `python -m fuzz` with `tests` on the path (docs/fuzzing.md)."""

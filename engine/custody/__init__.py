"""Custody: what is recorded of a case, and how others can check it (docs/custody.md)."""

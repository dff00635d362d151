"""Frozen plan nodes and what each reads, writes and removes."""

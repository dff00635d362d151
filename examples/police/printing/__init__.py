"""Turns the texts in `../source` into records that look like agency paper."""

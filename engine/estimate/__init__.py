"""What a run will take, before it runs: rows, calls, tokens, minutes, and rows that are too long."""

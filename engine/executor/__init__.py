"""Run a plan over rows: events, ledger, cache, resume."""

"""What the window asks of the worker while a job runs: a module for each group of queries (registry.GROUPS)."""

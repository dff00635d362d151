"""The answer contract: typed items that each cite their lines, signals for the pipeline, and the checks by code."""

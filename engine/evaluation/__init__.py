"""Score a finished run against gold answers."""

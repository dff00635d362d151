"""The tasks of the paper (section 5): run, scored by gold, plans side by side."""

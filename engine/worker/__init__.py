"""Runs as jobs: checked before they start, and served to the desktop app over a pipe of JSON lines."""

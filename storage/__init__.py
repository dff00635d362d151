"""One SQLite case file per investigation, and exports. Knows no pipeline."""

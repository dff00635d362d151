"""Results tables as files: CSV, XLSX and JSONL, each with the place every value comes from."""

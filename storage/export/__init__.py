"""Results tables as files: CSV, XLSX, JSON, Parquet, SQLite, each with the place every value comes from."""

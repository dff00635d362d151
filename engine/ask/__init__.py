"""A question in plain words becomes a table: what a row is, its columns, and the pipeline that fills it."""

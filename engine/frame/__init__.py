"""The Python API: pipelines as chained methods. `from engine import read_folder, read_json, Pipeline`."""

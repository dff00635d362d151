"""The pipeline language: YAML, schemas, templates and the checks made before any model call."""

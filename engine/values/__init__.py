"""Value types: what a model writes as it stands in the document, and code reads (docs/schemas.md)."""

"""The pipeline that a person writes: a model with its history, the cards, the YAML beside them, and trying it."""

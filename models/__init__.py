"""On-device models: backends, token masks, embeddings, catalogue. Knows no pipeline."""

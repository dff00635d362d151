"""Whether what a model was shown of a document is all an answer needs: told by code, never asked (article, 2.4)."""

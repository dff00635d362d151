"""Names, dates, numbers, sentences and likeness of plain text: each concept once, for all of the engine."""

"""Qt windows. They know the engine only through the worker process and its events."""

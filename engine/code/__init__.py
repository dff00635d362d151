"""Python of a pipeline's own, run in a child process that can reach neither network nor files."""

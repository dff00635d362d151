"""The command line: `redwell COMMAND`. Draws what the executor reports and decides nothing itself."""

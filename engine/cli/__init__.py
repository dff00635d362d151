"""The redwell command line."""

"""Locate output values in the lines they came from."""

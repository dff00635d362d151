"""Improving a question: its builds, the plans they consider, and the choice between them."""

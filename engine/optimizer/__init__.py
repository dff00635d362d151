"""The optimizer (paper section 4): what it tries, in which order, and how it rates."""

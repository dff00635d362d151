"""The validation agent (paper section 4.2.2): criteria, ratings with named failures, pairwise comparisons."""

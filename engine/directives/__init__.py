"""Rewrite directives (paper section 3): other plans for the same task, which may answer better or sooner.

A directive changes what is asked, so it changes the answer: whether for the better, a sample has to show. The exact
rewrites, which change nothing, are in `engine.plan.rewrites`. One directive is one module with one class; what a
directive leaves open (prompts, sizes, fields) are its parameters, which a model proposes or a template fills in.
"""

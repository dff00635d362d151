"""A model in a process of its own: a crash or a kill costs the replies in progress some time, and nothing else.

`backend` is the parent's side (models.protocol.ModelBackend), `child` the program in the other process, `wire` what the
two say to each other.
"""

"""One model on many machines: requests go to model actors of a Ray cluster (docs/cluster.md). Knows no pipeline.

Only `ray_runtime` imports ray, and only when a cluster is opened.
"""

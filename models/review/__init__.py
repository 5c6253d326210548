"""Batch reviews as values: what is reviewed, what was found, and how a run of them came out. Pure."""

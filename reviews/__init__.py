"""Reviews in batches: what is reviewed, by which panel, what it found, and where the report goes."""

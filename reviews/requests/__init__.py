"""Review requests: what to review, by which panel."""

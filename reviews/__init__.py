"""Reviews in batches: sources, panels, findings, reports and their delivery."""

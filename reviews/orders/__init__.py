"""Review requests, resolved to files or sessions and a panel."""

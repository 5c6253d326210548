"""What the models of a panel are shown of an item: lines in chunks, with context."""

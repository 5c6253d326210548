"""Opening, steering, restoring and pruning sessions."""

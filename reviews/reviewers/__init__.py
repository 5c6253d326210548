"""Built-in reviewers that need no model."""

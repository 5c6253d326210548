"""Checks of documents by rules, without a model. Each yields remarks with their lines."""

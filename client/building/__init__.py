"""Builders of the parts of an installation from its settings."""

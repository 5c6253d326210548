"""Identifiers, paths and text in the form that is written and shown."""

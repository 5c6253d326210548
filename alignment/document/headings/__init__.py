"""Headings of rounds and turns."""

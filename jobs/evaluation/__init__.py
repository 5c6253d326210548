"""Evaluations: the cases file, runs as sessions, and their scores."""

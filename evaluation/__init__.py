"""Evaluations of sessions: cases, variants and scorers, runs as sessions, and their results."""

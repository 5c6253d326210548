"""Evaluations of sessions: cases, variants and scorers, and their results. Data only."""

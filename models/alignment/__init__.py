"""Alignment sessions: a ledger records the experts' markers, and the session ends when they have converged."""

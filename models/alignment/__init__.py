"""Alignment sessions: what experts mark is kept in a ledger, and the session ends when they have converged."""

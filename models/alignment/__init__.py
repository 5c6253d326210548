"""Alignment sessions: a ledger records the experts' markers, and the session ends when they have converged.

Every session has a ledger. So the ids and the vocabulary that it needs are here, and a program that reads a session
does not import the parser, which is in `symposia.alignment`.
"""

"""Alignment sessions: the format of their documents, the transcript of a session, and what the format asks of a turn.

A program that only reads a session needs `symposia.models.alignment` and does not import the parser.
"""

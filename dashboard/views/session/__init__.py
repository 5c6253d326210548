"""Data of the session page, for live and archived sessions.

Every function costs O(page): it reads one page of a stream, or the session's state, and never the whole dialog.
"""

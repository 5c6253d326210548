"""A real server, whose sessions are audited after each test."""

from checks.audited import client

__all__ = ["client"]

"""Databases for commands that use an archive."""

from __future__ import annotations

from servers.databases import postgres

__all__ = ["postgres"]

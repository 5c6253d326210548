"""Limits of sub-sessions: without pydantic, because the settings need them."""

from __future__ import annotations

#: Default of the maximum number of sessions between a session and its root, itself included.
MAX_DEPTH = 4
#: Default of the maximum number of sub-sessions below one root.
MAX_SUBSESSIONS = 100
#: Upper bound of the nesting that can be configured.
DEEPEST = 16
#: Rule that a sub-session breaks that is nested too deep.
TOO_DEEP = "is nested too deep: see SYMPOSIA_MAX_SUBSESSION_DEPTH"

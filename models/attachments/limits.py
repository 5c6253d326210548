"""Limits for attachments: size of each, and number and size together in a message and in a session."""

from __future__ import annotations

#: Default of the maximum bytes of one attachment.
DEFAULT_BYTES = 8_388_608
#: Maximum bytes of one attachment, also if the settings allow more, and of all attachments of a session.
MOST_BYTES = 67_108_864
#: Maximum number of attachments of one message.
MOST_PER_MESSAGE = 20
#: Maximum number of different attachments of one session.
MOST_PER_SESSION = 200
#: Rule for a session that has no room for another attachment.
FULL = f"must be at most {MOST_PER_SESSION} attachments and {MOST_BYTES} bytes in one session"

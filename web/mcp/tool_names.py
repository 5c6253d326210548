"""Names of the tools: each session file of the setting `jobs` is one. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable

from ...models.errors import InvalidInput

LIST_SESSIONS = "list_sessions"
GET_SESSION = "get_session"
REPLY = "reply_to_question"
CANCEL = "cancel_session"
#: Tools for all sessions.
SESSION_TOOLS = (LIST_SESSIONS, GET_SESSION, REPLY, CANCEL)
#: Characters of a name: MCP takes 128, but model providers take 64.
MAX_CHARS = 64
#: Characters that a name must not have (MCP, SEP-986).
_OTHER = re.compile(r"[^A-Za-z0-9_-]+")


def tool_names(files: Iterable[str]) -> dict[str, str]:
    """Return the name of each session file in the setting `jobs`, by the name of its tool.

    Raises:
        InvalidInput: Two files, or a file and a tool for all sessions, would have the same name.
    """
    names: dict[str, str] = {}
    for file in files:
        tool = _OTHER.sub("_", file)[:MAX_CHARS]
        if tool in SESSION_TOOLS:
            raise InvalidInput(
                "jobs", file, f"must not become the name of the MCP tool {tool!r} for all sessions"
            )
        if (other := names.get(tool)) is not None:
            raise InvalidInput(
                "jobs", file, f"must differ from {other!r} as an MCP tool: both become {tool!r}"
            )
        names[tool] = file
    return names

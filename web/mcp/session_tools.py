"""The tools: one for each session file of the setting `jobs`, and those for all sessions."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

from mcp import types

from ...config.settings import Settings
from ...jobs.session_file import read_schema, read_table, roots_of
from ...jobs.subsession_files import SCHEMA_FILE, FileResolver
from ...models.errors import InvalidInput
from ...models.text.redact import excerpt
from ..routes.files import read_file
from ..submissions import open_file
from .arguments import Arguments, CancelArguments, GetArguments, ListArguments, ReplyArguments
from .results import SessionList, result_schema
from .tool_names import CANCEL, GET_SESSION, LIST_SESSIONS, REPLY, tool_names

_log = logging.getLogger(__name__)

#: Maximum characters of the purpose of a session in the description of its tool.
_MAX_DESCRIPTION = 2_000


@dataclass(frozen=True, slots=True)
class SessionTools:
    """The tools of the session files."""

    settings: Settings
    #: Name of the file in the setting `jobs`, by the name of the tool.
    names: Mapping[str, str]

    @classmethod
    def of(cls, settings: Settings) -> Self:
        """Return the tools of the session files, which are not read yet.

        Raises:
            InvalidInput: Two have the same tool name.
        """
        return cls(settings, tool_names(settings.jobs))

    def check(self) -> None:
        """Read all session files.

        Raises:
            InvalidInput: A file is not valid.
        """
        for tool in self.names:
            self._read_tool(tool)

    def list_tools(self) -> list[types.Tool]:
        """Return the tools of the files as they are now; one that became invalid is left out, and logged."""
        tools = []
        for tool, name in self.names.items():
            try:
                tools.append(self._read_tool(tool))
            except InvalidInput as error:
                _log.warning("session file %s is left out of the MCP tools: %s", name, error)
        return [*tools, *session_tools()]

    def _read_tool(self, tool: str) -> types.Tool:
        file = read_file(self.names[tool], self.settings)
        return types.Tool(
            name=tool,
            title=excerpt(file.title, 200),
            description=f"{excerpt(file.description, _MAX_DESCRIPTION)} (a session of several agents)".lstrip(),
            input_schema=file.input_schema,
            output_schema=result_schema(self._read_output(file.name)),
            annotations=types.ToolAnnotations(
                read_only_hint=False, destructive_hint=False, open_world_hint=True
            ),
        )

    def _read_output(self, name: str) -> Mapping[str, Any] | None:
        """Return the JSON schema of the output of a session file, which may be in a file of its own."""
        folder = self.settings.jobs[name].parent
        file = open_file(name, self.settings)
        outputs = {
            field: value for field, value in file.document().items() if field in ("output", SCHEMA_FILE)
        }
        resolver = FileResolver(read_table, read_schema, roots_of(folder, self.settings.session_root))
        with file.name_file_in_errors():
            schema = resolver.resolve(outputs, folder).get("output")
        return schema if isinstance(schema, Mapping) else None


def session_tools() -> list[types.Tool]:
    """Return the tools for all sessions."""
    reads = types.ToolAnnotations(read_only_hint=True, open_world_hint=False)
    ends = types.ToolAnnotations(read_only_hint=False, destructive_hint=True, idempotent_hint=True)
    replies = types.ToolAnnotations(read_only_hint=False, destructive_hint=False, idempotent_hint=True)
    about: list[tuple[str, str, str, type[Arguments], types.ToolAnnotations]] = [
        (
            LIST_SESSIONS,
            "List sessions",
            "List sessions, newest first, with their status.",
            ListArguments,
            reads,
        ),
        (
            GET_SESSION,
            "Wait for a session",
            "Return the result of a session. If it runs, wait for its end; if that takes too long, return its state.",
            GetArguments,
            reads,
        ),
        (
            REPLY,
            "Answer a question",
            "Send the answer of a person to an open question of a session. Ask the person; never answer for them.",
            ReplyArguments,
            replies,
        ),
        (
            CANCEL,
            "Cancel a session",
            "Cancel a session at once, with its sub-sessions.",
            CancelArguments,
            ends,
        ),
    ]
    return [
        types.Tool(
            name=name,
            title=title,
            description=description,
            input_schema=arguments.model_json_schema(),
            output_schema=SessionList.model_json_schema(mode="serialization")
            if name == LIST_SESSIONS
            else result_schema(),
            annotations=hints,
        )
        for name, title, description, arguments, hints in about
    ]

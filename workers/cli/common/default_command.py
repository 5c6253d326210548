"""Command group with a default command: `symposia review src` is `symposia review files src`."""

from __future__ import annotations

from typing import Any

from typer.core import TyperGroup

#: Name of the default command.
DEFAULT_COMMAND = "files"
_HELP_OPTIONS = ("--help", "-h")


class DefaultGroup(TyperGroup):
    """Group that passes arguments to `DEFAULT_COMMAND` if the first one is not a command; a path named like a command is written `./list`."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """As in TyperGroup."""
        if not args or (args[0] not in self.commands and args[0] not in _HELP_OPTIONS):
            args = [DEFAULT_COMMAND, *args]
        return super().parse_args(ctx, args)

"""A group of commands with one that is meant when no other is named: `symposia review src` is `symposia review files src`."""

from __future__ import annotations

from typing import Any

from typer.core import TyperGroup

#: The command that is meant.
DEFAULT = "files"
_HELP = ("--help", "-h")


class DefaultGroup(TyperGroup):
    """Hands everything that names no command to `DEFAULT`; a path called like a command is written `./list`."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """As in TyperGroup."""
        if not args or (args[0] not in self.commands and args[0] not in _HELP):
            args = [DEFAULT, *args]
        return super().parse_args(ctx, args)

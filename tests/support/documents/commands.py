"""Whether the command line knows a command that a file or a page names."""

from __future__ import annotations

from collections.abc import Sequence

from typer.testing import CliRunner

from symposia.cli.app import build_app


def check_command(words: Sequence[str]) -> None:
    """Fails for an unknown command or option. Nothing runs: the parser ends with the help."""
    program, *arguments = words
    assert program == "symposia"
    done = CliRunner().invoke(build_app(), [*arguments, "--help"])
    assert done.exit_code == 0, done.output

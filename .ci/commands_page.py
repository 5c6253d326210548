"""Write docs/commands.md: the help of all commands.

python .ci/commands_page.py
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import typer

from symposia.cli.app import PANELS, build_app

PAGE = Path(__file__).parents[1] / "docs" / "commands.md"
INTRODUCTION = """\
# Commands

<!-- Generated from the help of the commands: `make commands-page` writes this page. -->

This page has the help texts of all commands. `symposia --help` lists the commands, and `symposia COMMAND --help` (or `-h`)
explains one.
"""
#: Options of every command, and those that Typer adds to the program.
LEFT_OUT = {"--help", "--install-completion", "--show-completion"}
#: An example in a help text, which a terminal shows in bold letters.
_BOLD = re.compile(r"\[bold\](.*?)\[/bold\]")


def render_page() -> str:
    """Return the page."""
    root = typer.main.get_command(build_app())
    return f"{INTRODUCTION}\n{''.join(_panels(root))}{_heading(2, 'Exit codes')}{_describe_codes(root.epilog or '')}"


def _panels(root: Any) -> Iterator[str]:
    """Yield the commands under the headings of the help, after the options of the program."""
    yield from (_heading(2, "symposia"), *_describe(root, "symposia"))
    panel = None
    order = list(PANELS)
    for name, command in sorted(root.commands.items(), key=lambda item: order.index(item[1].rich_help_panel)):
        if command.rich_help_panel != panel:
            panel = command.rich_help_panel
            yield _heading(2, panel)
        yield from _command(command, f"symposia {name}")


def _command(command: Any, path: str) -> Iterator[str]:
    """Yield the section of a command, then those of its own commands."""
    yield _heading(3, path)
    yield from _describe(command, path)
    for name, child in getattr(command, "commands", {}).items():
        yield from _command(child, f"{path} {name}")


def _describe(command: Any, path: str) -> Iterator[str]:
    context = command.context_class(command, info_name=path)
    yield f"```text\n{path} {' '.join(command.collect_usage_pieces(context))}\n```\n\n"
    for paragraph in (command.help or "").split("\n\n"):
        yield f"{_prose(paragraph)}\n\n"
    rows = [
        _row(parameter, context)
        for parameter in command.params
        if not LEFT_OUT & set(parameter.opts) and not parameter.hidden
    ]
    if rows:
        yield f"| argument or option | meaning |\n|---|---|\n{''.join(rows)}\n"


def _row(parameter: Any, context: Any) -> str:
    names, meaning = parameter.get_help_record(context)
    return f"| `{_cell(names)}` | {_cell(_prose(meaning))} |\n"


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", r"\|")


def _prose(text: str) -> str:
    """Return a help text as Markdown: examples as code, no accidental markup."""
    pieces = re.split(r"(`[^`]*`|\[bold\].*?\[/bold\])", " ".join(text.replace(r"\[", "[").split()))
    return "".join(
        _BOLD.sub(r"`\1`", piece) if index % 2 else re.sub(r"([<>*_\[\]])", r"\\\1", piece)
        for index, piece in enumerate(pieces)
    )


def _heading(level: int, title: str) -> str:
    return f"{'#' * level} {title}\n\n"


def _describe_codes(epilog: str) -> str:
    """Return the exit codes of all commands as a table."""
    codes = re.findall(r"(\d+) (.*?)(?=, \d+ |\.$)", epilog.removeprefix("Exit codes: "))
    return "| exit code | meaning |\n|---|---|\n" + "".join(
        f"| {code} | {meaning} |\n" for code, meaning in codes
    )


if __name__ == "__main__":
    PAGE.write_text(render_page(), encoding="utf-8")

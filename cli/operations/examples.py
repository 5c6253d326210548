"""`symposia init` and `symposia examples`: files to start from."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Annotated

import typer

from ..common.options import AsJson

Folder = Annotated[Path, typer.Argument(help="Target folder; created if needed.", show_default="this folder")]
Force = Annotated[bool, typer.Option("--force", help="Overwrite existing files.")]


def add_to(app: typer.Typer) -> None:
    """Add the commands."""
    app.command()(init)
    app.command()(examples)


def init(folder: Folder = Path(), force: Force = False, as_json: AsJson = False) -> None:
    """Write a first project that runs at once.

    The files are an agents file, a session file with an input and a person, a module with an agent in Python, a
    program as an agent, and first.py, which runs a session with nothing else. Existing files are never overwritten
    without --force.

    Example: [bold]symposia init my-project[/bold]
    """
    from ..examples import copy_starter

    written = copy_starter(folder, force=force)
    python = "python first.py" if folder == Path() else f"cd {shlex.quote(str(folder))} && python first.py"
    _report(written, [python, "symposia up", "symposia run session.yaml   # in another terminal"], as_json)


def examples(
    name: Annotated[
        str | None, typer.Argument(help="Example to copy.", show_default="list all examples")
    ] = None,
    folder: Annotated[
        Path, typer.Argument(help="Target folder; created if needed.", show_default="examples")
    ] = Path("examples"),
    force: Force = False,
    as_json: AsJson = False,
) -> None:
    """List the examples of the package, or copy one of them.

    Existing files are never overwritten without --force.

    Example: [bold]symposia examples pair[/bold]
    """
    from ..examples import copy_example, find_example

    if name is None:
        _list(as_json)
        return
    example = find_example(name)
    written = copy_example(example, folder, force=force)
    start = example.start.replace("examples/", f"{shlex.quote(folder.as_posix())}/")
    services = ["symposia up   # in another terminal"] if example.needs_services else []
    _report(written, [*services, start], as_json)


def _list(as_json: bool) -> None:
    from ..common.screen import print_document, print_json
    from ..examples import EXAMPLES

    if as_json:
        print_json({"examples": [{"name": it.name, "summary": it.summary} for it in EXAMPLES]})
        return
    width = max(len(it.name) for it in EXAMPLES)
    lines = [f"{it.name:<{width}}  {it.summary}" for it in EXAMPLES]
    print_document("\n".join([*lines, "", "Copy one: symposia examples NAME"]))


def _report(written: list[Path], commands: list[str], as_json: bool) -> None:
    from ..common.screen import print_document, print_json

    if as_json:
        print_json({"written": [str(path) for path in written], "next": commands})
        return
    print_document(
        "\n".join([*(f"wrote {path}" for path in written), "", "Next:", *(f"  {it}" for it in commands)])
    )

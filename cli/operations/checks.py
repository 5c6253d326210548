"""`symposia config`, `repair` and `doctor`: look at an installation, and at documents of other writers."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ..common.options import AsJson
from ..common.screen import console, print_document, print_json, printable

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rich.console import Console
    from rich.text import Text

    from ...config.described import SettingInUse
    from ..doctor.server_checks import CheckResult


def add_to(app: typer.Typer) -> None:
    """Add the commands."""
    for command in (config, repair, doctor):
        app.command()(command)


def config(
    changed: Annotated[
        bool, typer.Option("--changed", help="Print only the settings that are not defaults.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Show every setting: its value, where it comes from, its meaning, its default and allowed values.

    A setting is read from its environment variable, else from the settings file, else it has its default. The
    settings file is `symposia.toml` of the project (the working folder or the nearest one above), or the file that SYMPOSIA_CONFIG names. Passwords are
    shown as ***.

    Example: [bold]symposia config --changed[/bold]
    """
    from ...config.described import settings_in_use
    from ...config.settings import load_settings

    rows = [
        setting for setting in settings_in_use(load_settings()) if not changed or setting.source != "default"
    ]
    if as_json:
        print_json({"settings": [_to_json(setting) for setting in rows]})
        return
    if rows:
        print_document("\n\n".join(map(_entry, rows)))


def _entry(setting: SettingInUse) -> str:
    """Return the lines of a setting: variable and value, its meaning, default and range."""
    about = setting.description
    value = setting.value if isinstance(setting.value, str) else json.dumps(setting.value)
    head = "not set" if setting.value in (None, {}, []) else f"{value}  (from {setting.source})"
    notes = [_plain(about.meaning), f"Default: {about.default}."]
    notes += [f"Allowed: {about.limits}."] if about.limits else []
    return f"{about.variables[0]}: {head.replace('(from default)', '(default)')}\n  {' '.join(notes)}"


def _plain(markdown: str) -> str:
    """Return Markdown without the targets of its links."""
    return re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", markdown)


def _to_json(setting: SettingInUse) -> dict[str, Any]:
    about = setting.description
    return {
        "name": about.name,
        "variables": about.variables,
        "value": setting.value,
        "source": setting.source,
        "default": about.default,
        "allowed": about.limits or None,
        "meaning": _plain(about.meaning),
    }


def repair(
    file: Annotated[
        str,
        typer.Argument(metavar="FILE", help="Collab, dialog, message or MAP event; - reads standard input."),
    ],
) -> None:
    """Print a protocol document (JSON) in a valid form, and each repair on standard error.

    Repaired are known deviations, such as prefixes of ids, names in camelCase and times without a zone. What a repair
    would have to guess is refused.

    Example: [bold]symposia repair collab.json > valid.json[/bold]
    """
    from ...models.errors import InvalidInput
    from ...models.protocol.reading import read_document
    from ...models.text.redact import excerpt

    try:
        data = sys.stdin.buffer.read() if file == "-" else Path(file).read_bytes()
    except OSError as error:
        raise InvalidInput("FILE", file, f"cannot be read: {error.strerror}") from None
    document = read_document(data)
    for change in document.repairs:
        after = "left out" if change.after is None else excerpt(str(change.after))
        line = f"{change.field}: {excerpt(str(change.before))} -> {after} ({change.rule})"
        console(stderr=True).print(printable(line), soft_wrap=True)
    print_json(document.value.to_wire())


def doctor(
    worker: Annotated[bool, typer.Option("--worker", help="Check only the workers of this host.")] = False,
    probe: Annotated[
        bool,
        typer.Option("--probe", help="Ask each endpoint of a model for one token, which costs a little."),
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Check Redis, workers, agents, prices and versions, and report how to fix each problem.

    Exit code 4: sessions cannot run. With --worker: no worker of this host has announced itself within 30 seconds.

    Example: [bold]symposia doctor[/bold]
    """
    from ...config.settings import load_settings
    from ..doctor.checks import run_checks
    from ..doctor.server_checks import Grade, check_host_workers

    settings = load_settings()
    findings = list(check_host_workers(settings) if worker else run_checks(settings, probe=probe))
    is_well = all(finding.grade is not Grade.BAD for finding in findings)
    if as_json:
        print_json({"ok": is_well, "findings": [finding.to_json() for finding in findings]})
    else:
        screen = console()
        screen.print(_report(screen, findings))
    if not is_well:
        raise typer.Exit(4)


def _report(screen: Console, findings: Sequence[CheckResult]) -> Text:
    from rich.text import Text

    from ..common.dialog_lines import hanging
    from ..doctor.server_checks import Grade

    marks = {Grade.GOOD: ("✓", "green"), Grade.WARNING: ("!", "yellow"), Grade.BAD: ("✗", "red")}
    lines = []
    for finding in findings:
        head = Text.assemble(marks[finding.grade], f" {finding.subject:<12} ")
        lines.append(hanging(screen, head, Text(printable(finding.text))))
        if finding.advice:
            advice = Text(printable(finding.advice), style="bold" if finding.grade is Grade.BAD else "")
            lines.append(hanging(screen, Text(" " * len(head)), advice))
    return Text("\n").join(lines)

"""`symposia config`."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ..common.options import AsJson

if TYPE_CHECKING:
    from ...config.described import SettingInUse


def add_to(app: typer.Typer) -> None:
    """Add the command."""
    app.command()(config)


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
    from ..common.screen import print_document, print_json

    rows = [it for it in settings_in_use(load_settings()) if not changed or it.source != "default"]
    if as_json:
        print_json({"settings": [_to_json(it) for it in rows]})
        return
    if rows:
        print_document("\n\n".join(map(_entry, rows)))


def _entry(it: SettingInUse) -> str:
    """Return the lines of a setting: variable and value, its meaning, default and range."""
    about = it.description
    value = it.value if isinstance(it.value, str) else json.dumps(it.value)
    head = "not set" if it.value in (None, {}, []) else f"{value}  (from {it.source})"
    notes = [_plain(about.meaning), f"Default: {about.default}."]
    notes += [f"Allowed: {about.limits}."] if about.limits else []
    return f"{about.variables[0]}: {head.replace('(from default)', '(default)')}\n  {' '.join(notes)}"


def _plain(markdown: str) -> str:
    """Return Markdown without the targets of its links."""
    import re

    return re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", markdown)


def _to_json(it: SettingInUse) -> dict[str, Any]:
    about = it.description
    return {
        "name": about.name,
        "variables": about.variables,
        "value": it.value,
        "source": it.source,
        "default": about.default,
        "allowed": about.limits or None,
        "meaning": _plain(about.meaning),
    }

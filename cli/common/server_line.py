"""The line about the server in use, which commands that write print on standard error."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any

import typer


def print_server_first(command: Callable[..., Any]) -> Callable[..., Any]:
    """Return a command that prints the server in use before it runs, unless its output is JSON or it only looks."""

    @wraps(command)
    def run(*args: Any, **options: Any) -> Any:
        if not (options.get("as_json") or options.get("dry_run")):
            _print_server()
        return command(*args, **options)

    return run


def _print_server() -> None:
    from ...config.project import describe_owner
    from ...config.settings import load_settings
    from ...models.text.redact import without_password
    from ...models.text.redis_address import source_of

    settings = load_settings()
    if settings.log_format == "json":
        return
    if settings.redis_url is None:
        text = f"the embedded server of {describe_owner(settings.data_dir)}"
    else:
        url = settings.redis_url.get_secret_value()
        text = f"{without_password(url)} from {source_of(url).name}"
    typer.echo(f"using {text}", err=True)

"""The Typer app and the table of its commands.

A command line imports only the module of its own command.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from functools import wraps
from importlib import import_module
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

#: Options for all commands that may also follow the command: `symposia up --shared`.
_ANYWHERE = ("--shared", "--quiet")


class _Commands(TyperGroup):
    """Root group of all commands."""

    def make_context(self, info_name: str | None, args: list[str], *more: Any, **extra: Any) -> typer.Context:
        """Move options for all commands to the front, and return the context of TyperGroup."""
        end = args.index("--") if "--" in args else len(args)
        moved = [argument for argument in args[:end] if argument in _ANYWHERE]
        args = [*moved, *(argument for argument in args[:end] if argument not in _ANYWHERE), *args[end:]]
        return super().make_context(info_name, args, *more, **extra)  # type: ignore[return-value]


_EXIT_CODES = (
    "Exit codes: 0 success, 1 the session was cancelled or aborted, review or lint found problems, replay or compare "
    "found a difference, an evaluation is below its threshold, or a change of many sessions failed, "
    "2 bad input or usage, 3 not found, 4 Redis, a worker or another part is missing, 130 interrupted."
)

#: Modules by help panel, in the order of the help, each with the commands that its `add_to` adds.
PANELS: dict[str, dict[str, tuple[str, ...]]] = {
    "Start": {"operations.examples": ("init", "examples")},
    "Run and follow sessions": {
        "operations.demo": ("demo",),
        "sessions.run": ("run", "submit", "continue", "fork"),
        "sessions.list": ("list", "search"),
        "sessions.show": ("show", "watch", "graph", "export", "attachments"),
        "sessions.replay": ("replay", "compare"),
    },
    "Control running sessions": {
        "sessions.steer": (
            *("activate", "suspend", "resume", "retry", "stop", "cancel"),
            *("add", "remove", "instruct", "post"),
        )
    },
    "Human answers and usage": {"sessions.inbox": ("inbox", "reply"), "operations.tenant": ("tenant",)},
    "Evaluations": {"evaluations": ("eval",)},
    "Reviews and schedules": {"reviews.review": ("review",), "reviews.schedule": ("schedule",)},
    "Webhooks": {"operations.webhook": ("webhook",)},
    "Tasks and conversations": {"workspace.task": ("task",), "workspace.conversation": ("conversation",)},
    "Archive and memory": {"operations.storage": ("memory", "restore", "prune")},
    "Alignment documents": {"alignment": ("lint", "dialogue")},
    "Operations": {
        "operations.token": ("token",),
        "operations.serve": ("up", "worker", "beat", "flower", "callbacks"),
        "operations.http": ("serve",),
        "operations.mcp": ("mcp",),
        "operations.checks": ("config", "repair", "doctor"),
    },
}


#: Commands that write to Redis; they print which server is in use.
_WRITING = frozenset(
    f"{group} {command}".strip()
    for group, commands in {
        "": "run submit continue fork activate suspend resume stop cancel add remove instruct post reply eval "
        "restore prune worker beat callbacks serve",
        "review": "files sessions eval cancel retry",
        "webhook": "send",
        "schedule": "add pause resume remove run-now",
        "memory": "forget share unshare",
        "token": "create revoke",
        "task": "request close add remove leave",
        "conversation": "send read create update archive unarchive add remove",
    }.items()
    for command in commands.split()
)


def build_app(arguments: Sequence[str] = ()) -> typer.Typer:
    """Return the app for a command line.

    Args:
        arguments: The command line without the program name.

    Returns:
        The app with the commands of one module if the command line names one of them, without commands for
        `--version`, else with all commands.
    """
    app = typer.Typer(
        name="symposia",
        cls=_Commands,
        no_args_is_help=True,
        rich_markup_mode="rich",
        pretty_exceptions_enable=False,
        add_completion=True,
        context_settings={"help_option_names": ["-h", "--help"]},
        epilog=_EXIT_CODES,
    )
    app.callback()(symposia)
    first = next((argument for argument in arguments if argument not in ("--debug", *_ANYWHERE)), None)
    is_known = first == "--version" or any(
        first in commands for modules in PANELS.values() for commands in modules.values()
    )
    for panel, modules in PANELS.items():
        for module, commands in modules.items():
            if not is_known or first in commands:
                import_module(f".{module}", __package__).add_to(app)
        for command in app.registered_commands:
            command.rich_help_panel = command.rich_help_panel or panel
        for group in app.registered_groups:
            group.rich_help_panel = group.rich_help_panel or panel
    _join_lines(app)
    if "--quiet" not in arguments:
        _print_servers(app)
    return app


def _version(wanted: bool) -> None:
    if wanted:
        from importlib.metadata import version

        typer.echo(f"symposia {version('symposia')}")
        raise typer.Exit


def _choose_shared(wanted: bool) -> None:
    from ..config.chosen import choose_for_process

    choose_for_process("shared", True if wanted else None, option="--shared")


def symposia(
    debug: Annotated[bool, typer.Option("--debug", help="Show the full traceback of an error.")] = False,
    shared: Annotated[
        bool,
        typer.Option(
            "--shared",
            callback=_choose_shared,
            help="Use the embedded installation that all projects of the user may share, not that of the project. "
            "May follow the command.",
        ),
    ] = False,
    quiet: Annotated[
        bool, typer.Option("--quiet", help="Do not print which server is used. May follow the command.")
    ] = False,
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version and exit.")
    ] = False,
) -> None:
    """Multi-agent collaboration sessions on Celery workers.

    To start, run [bold]symposia init[/bold]. [bold]symposia demo[/bold] runs a session in each mode.
    """


def _print_servers(commands: typer.Typer, group: str = "") -> None:
    """Let the commands that write print the server in use."""
    for command in commands.registered_commands:
        if command.callback is not None:
            name = command.name or command.callback.__name__.replace("_", "-")
            if f"{group}{name}" in _WRITING:
                command.callback = _print_server_first(command.callback)
    for subgroup in commands.registered_groups:
        if subgroup.typer_instance is not None:
            _print_servers(subgroup.typer_instance, f"{subgroup.name or subgroup.typer_instance.info.name} ")


def _print_server_first(command: Callable[..., Any]) -> Callable[..., Any]:
    """Return a command that prints the server in use before it runs, unless its output is JSON or it only looks."""

    @wraps(command)
    def run(*args: Any, **options: Any) -> Any:
        if not (options.get("as_json") or options.get("dry_run")):
            _print_server()
        return command(*args, **options)

    return run


def _print_server() -> None:
    from ..config.project import describe_owner
    from ..config.settings import load_settings
    from ..models.text.redact import without_password
    from ..models.text.redis_address import source_of

    settings = load_settings()
    if settings.log_format == "json":
        return
    if settings.redis_url is None:
        text = f"the embedded server of {describe_owner(settings.data_dir)}"
    else:
        url = settings.redis_url.get_secret_value()
        text = f"{without_password(url)} from {source_of(url).name}"
    typer.echo(f"using {text}", err=True)


def _join_lines(commands: typer.Typer) -> None:
    """Join the lines of each help paragraph, so that they wrap at the help width.

    Typer keeps the line breaks of docstrings.
    """
    for command in commands.registered_commands:
        paragraphs = (inspect.getdoc(command.callback) or "").split("\n\n")
        command.help = "\n\n".join(" ".join(paragraph.split()) for paragraph in paragraphs)
    for group in commands.registered_groups:
        if group.typer_instance is not None:
            _join_lines(group.typer_instance)

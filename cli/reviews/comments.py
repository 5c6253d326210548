"""`symposia review decisions`, `forget` and `reply`: what people answer to the comments of reviews."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from ..common.options import AsJson, Verbose, open_client
from ..common.screen import console, print_json, printable
from .options import Model

#: Maximum bytes of an event; GitHub sends up to 25 MB.
MAX_EVENT_BYTES = 26_214_400


def add_to(group: typer.Typer) -> None:
    """Add the commands."""
    for command in (decisions, forget, reply):
        group.command()(command)


def decisions(
    repository: Annotated[
        str | None,
        typer.Option(help="Only those about this repository: its web address, or the name of a root."),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """List what people have decided about findings in the comments of pull requests, newest first.

    Findings with a decision are suppressed in later reviews of the repository, as long as their line stays the same.

    Example: [bold]symposia review decisions --repository https://github.com/example/shop[/bold]
    """
    listed = open_client().review_decisions(repository)
    if as_json:
        print_json([{"id": decision.id, **decision.model_dump(mode="json")} for decision in listed])
        return
    if not listed:
        console(stderr=True).print("No decisions.")
    for decision in listed:
        place = f"{decision.path}:{decision.line}" if decision.line else decision.path
        what = " ".join(filter(None, (decision.category or decision.rule, decision.message)))
        console().print(
            printable(f"{decision.id}  {decision.repository}  {place}  {decision.text}: {what}"),
            soft_wrap=True,
        )


def forget(
    decision: Annotated[
        str, typer.Argument(metavar="ID", help="Id of the decision, or its first characters.")
    ],
    as_json: AsJson = False,
) -> None:
    """Forget a decision: its finding is reported again, and its thread is opened by the next delivery.

    Example: [bold]symposia review forget 1f2e3d4c5b6a[/bold]
    """
    forgotten = open_client().forget_review_decision(decision)
    if as_json:
        print_json({"id": forgotten.id, **forgotten.model_dump(mode="json")})
    else:
        typer.echo(f"Decision {forgotten.id} about {forgotten.path} is forgotten.")


def reply(
    event: Annotated[
        Path, typer.Argument(help="File with the JSON of the event: in GitHub Actions $GITHUB_EVENT_PATH.")
    ],
    deliver: Annotated[str, typer.Option(metavar="NAME", help="Delivery to the code host.")],
    model: Model = None,
    verbose: Verbose = False,
    as_json: AsJson = False,
) -> None:
    """Do what a new comment on a pull request asks for, and print it.

    Prints `review NUMBER` for /review: run the review then. Stores a decision for /ignore, "won't fix" and "not a
    bug" in the thread of a finding. Answers other replies there with --model. Prints `nothing` for all other events.

    Example: [bold]symposia review reply $GITHUB_EVENT_PATH --deliver pulls --model house[/bold]
    """
    from .local_review import ReviewProgress, reply_locally

    with ReviewProgress(console(stderr=True), verbose=verbose, as_json=as_json) as progress:
        result = reply_locally(_read_event(event), progress, deliver=deliver, model=model)
    if as_json:
        print_json(asdict(result))
        return
    shown = result.pull_request if result.action == "review" else result.detail
    typer.echo(f"{result.action} {printable(str(shown))}")


def _read_event(path: Path) -> dict[str, object]:
    """Return the JSON object in a file."""
    from ...models.errors import InvalidInput

    try:
        is_too_long = path.stat().st_size > MAX_EVENT_BYTES
        text = b"" if is_too_long else path.read_bytes()
    except OSError as error:
        raise InvalidInput("event", str(path), f"cannot be read: {error.strerror}") from None
    if is_too_long:
        raise InvalidInput("event", str(path), f"must have at most {MAX_EVENT_BYTES} bytes")
    try:
        data = json.loads(text)
    except (ValueError, RecursionError):
        data = None
    if not isinstance(data, dict):
        raise InvalidInput("event", str(path), "must be a JSON object")
    return data

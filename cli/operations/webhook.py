"""`symposia webhook`."""

from __future__ import annotations

from typing import Annotated

import typer

from ..common.options import AsJson, open_client
from ..common.screen import console, plain_table, print_json, printable

Name = Annotated[str, typer.Argument(metavar="NAME", help="Name of the webhook in the webhooks file.")]


def add_to(app: typer.Typer) -> None:
    """Add the commands."""
    group = typer.Typer(no_args_is_help=True, help="Show, test and repeat the deliveries of webhooks.")
    for command in (list_all, deliveries, send, send_test):
        group.command({list_all: "list", send_test: "test"}.get(command, command.__name__))(command)
    app.add_typer(group, name="webhook")


def list_all(as_json: AsJson = False) -> None:
    """List the webhooks of the webhooks file, with the number of their deliveries of the last week.

    Example: [bold]symposia webhook list[/bold]
    """
    webhooks = open_client().webhooks.entries()
    if as_json:
        print_json([webhook.to_json() for webhook in webhooks])
        return
    if not webhooks:
        console(stderr=True).print("No webhooks.")
        return
    table = plain_table(
        *("name", "host", "events", "tenant", "waiting", "delivered", "failed"),
        right=("waiting", "delivered", "failed"),
    )
    for it in webhooks:
        events, counts = ", ".join(it.events), (it.waiting, it.delivered, it.failed)
        table.add_row(
            it.name, printable(it.host or "(not set here)"), events, it.tenant or "", *map(str, counts)
        )
    console().print(table)


def deliveries(
    name: Annotated[
        str | None, typer.Argument(metavar="[NAME]", help="Only deliveries to this webhook.")
    ] = None,
    failed: Annotated[
        bool, typer.Option("--failed", help="Only deliveries that failed permanently.")
    ] = False,
    count: Annotated[
        int, typer.Option("--count", "-n", min=1, max=10_000, help="Maximum number of results.")
    ] = 20,
    as_json: AsJson = False,
) -> None:
    """List the deliveries of the last week, newest first.

    Example: [bold]symposia webhook deliveries ops --failed[/bold]
    """
    from ...client.webhooks.service import delivery_json

    found = open_client().webhooks.deliveries(name, failed=failed, count=count)
    if as_json:
        print_json([delivery_json(delivery) for delivery in found])
        return
    if not found:
        console(stderr=True).print("No deliveries.")
    for it in found:
        line = f"{it.id}  {it.webhook}  {it.event}  {it.subject}  {it.state.value}, {it.attempts} attempts"
        console().print(printable(f"{line}: {it.error}" if it.error else line), soft_wrap=True)


def send(
    name: Name,
    delivery: Annotated[
        str, typer.Argument(metavar="DELIVERY", help="Id of the delivery, or its first characters.")
    ],
    as_json: AsJson = False,
) -> None:
    """Queue a failed delivery again, with the same id and body; workers send it.

    Example: [bold]symposia webhook send ops 1f2e3d4c[/bold]
    """
    queued = open_client().webhooks.send(name, delivery)
    if as_json:
        print_json({"id": queued.id, "webhook": name, "state": "waiting"})
    else:
        typer.echo(f"Delivery {queued.id} is queued.")


def send_test(name: Name, as_json: AsJson = False) -> None:
    """Send an event of the type webhook.test to a webhook now, from this process. It needs the secret's variable.

    Example: [bold]symposia webhook test ops[/bold]
    """
    took_s = open_client().webhooks.test(name)
    if as_json:
        print_json({"webhook": name, "delivered": True, "seconds": round(took_s, 3)})
    else:
        typer.echo(f"Delivered to {name} in {took_s:.1f} s.")

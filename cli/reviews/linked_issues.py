"""Issues that the reviewed pull request closes, read from the code host that gets the comments."""

from __future__ import annotations

from collections.abc import Sequence

from ...client.building.app import load_deliveries
from ...config.settings import load_settings
from ...models.errors import DeliveryFailed
from ...reviews.delivery.deliveries_file import CodeHostEntry
from ...reviews.values.changes import LinkedIssue
from ..common.screen import console, printable


def find_linked_issues(deliver: Sequence[str], pull_request: int) -> Sequence[LinkedIssue]:
    """Return the issues; empty: no code host gets the comments, or it refuses. Raises InvalidInput: a name is unknown."""
    settings = load_settings()
    # A deliveries file in the working folder may be part of what is reviewed.
    if not deliver or settings.deliveries_file is None:
        return ()
    destinations = load_deliveries(settings)
    hosts = [name for name in deliver if isinstance(destinations.entry(name), CodeHostEntry)]
    try:
        return destinations.linked_issues(hosts[0], pull_request) if hosts else ()
    except DeliveryFailed as error:
        console(stderr=True).print(printable(f"Reviewing without linked issues: {error}"), style="yellow")
        return ()

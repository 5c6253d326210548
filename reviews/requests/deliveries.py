"""Deliveries of a request."""

from __future__ import annotations

from collections.abc import Sequence

from pydantic import JsonValue, ValidationError

from ...models.errors import invalid_input
from ..values.runs import DeliveryRequest


def delivery_options(names: Sequence[str], pull_request: int | None = None) -> dict[str, JsonValue]:
    """Return the options of the deliveries at the end; empty without any.

    `pull_request`: number of the reviewed pull request; None: the run reviews none.
    """
    if not names:
        return {}
    pull = None if pull_request is None else {"number": pull_request}
    try:
        wanted = DeliveryRequest.model_validate({"deliver": tuple(names), "pull_request": pull})
    except ValidationError as error:
        raise invalid_input(error) from None
    return wanted.model_dump(mode="json")

"""Queues of the messages of an installation: where they are sent, and whether a worker takes them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

if TYPE_CHECKING:
    from celery import Celery

#: Pattern of the names of our Celery tasks, and the task whose route all messages of sessions follow.
ALL_TASKS = "symposia.*"
TURN = "symposia.turn"
ROUTE_ATTRIBUTE = "symposia_turn_route"


def turn_route(app: Celery) -> dict[str, Any]:
    """Return the options with which the app sends the messages of turns, by its routes; read once."""
    route: dict[str, Any] | None = getattr(app, ROUTE_ATTRIBUTE, None)
    if route is None:
        route = cast("Any", app.amqp.router).route({}, TURN)
        setattr(app, ROUTE_ATTRIBUTE, route)
    return route


def queue_name(app: Celery) -> str:
    """Return the name of the common queue: that of the settings, unless a route of the app names another one."""
    return str(turn_route(app)["queue"].name)


def serves_sessions(app: Celery) -> bool:
    """Return whether this worker consumes a queue of sessions; its queues are chosen."""
    common = queue_name(app)
    return any(name == common or name.startswith(f"{common}.") for name in app.amqp.queues.consume_from)

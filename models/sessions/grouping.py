"""Groups of sessions: by agent, tenant, tag or error. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

from .shown_status import ShownStatus

#: Maximum characters of the name of an error.
_MAX_NAME = 80
#: Minimum characters of the beginning of an error before its first number.
_MIN_NAME = 8
_LAST = re.compile(r", last: (?P<error>.*?)(?:; \w+|$)", re.DOTALL)
_SPEAKER = re.compile(r"[^:\s]{1,200}: ")


@dataclass(frozen=True, slots=True)
class SessionGroup:
    """Sessions with the same agent, tenant, tag or error; a session with several agents or tags is in several groups."""

    name: str
    sessions: int
    #: Number of them that failed; in a group by agent, in a turn of the agent.
    failed: int
    #: Cost of the sessions, in millionths of a US dollar; in a group by agent, of the agent's own turns.
    cost_micros: int


#: Cost of each agent's turns in sessions, by their id and opening time, in millionths of a US dollar.
AgentCosts: TypeAlias = Mapping[tuple[str, int], Mapping[str, int]]


def error_name(detail: str) -> str:
    """Return the part of a failure's detail that is the same for failures of one kind, such as `TimeoutError`.

    It is contained in the detail, so a filter by this text finds the session.
    """
    last = _LAST.search(detail)
    error = last["error"] if last else detail
    if speaker := _SPEAKER.match(error):
        error = error[speaker.end() :] or error
    line = error.partition("\n")[0][:_MAX_NAME]
    start = re.split(r"\d", line, maxsplit=1)[0].rstrip(" :,;([{'\"-#")
    return start if len(start) >= _MIN_NAME else line.strip()


def groups_of(row: Mapping[str, Any], group: str, agent_costs: AgentCosts) -> Iterator[SessionGroup]:
    """Yield a group of one session for each name of a row.

    Args:
        row: The row, as `SessionQuery.fits` reads it.
        group: `agent`, `error`, `tenant` or `tag`.
        agent_costs: A session that is not in it costs its agents nothing.
    """
    costs = agent_costs.get((row["id"], row["opened_ms"]), {})
    for name, failed in _names_of(row, group):
        cost = costs.get(name, 0) if group == "agent" else row["cost_micros"]
        yield SessionGroup(name, 1, int(failed), cost)


def _names_of(row: Mapping[str, Any], group: str) -> Iterator[tuple[str, bool]]:
    """Yield the names of a row, and whether the session counts as failed there."""
    failed = row["shown"] == ShownStatus.FAILED
    detail = row["detail"] or ""
    if group == "agent":
        failed_by: dict[str, bool] = {}
        for who in row["agents"]:
            if who["agent"] is None:
                continue
            is_mine = row["reason"] != "failed" or detail.startswith(f"{who['participant']}: ")
            failed_by[who["agent"]] = failed_by.get(who["agent"], False) or (failed and is_mine)
        yield from failed_by.items()
    elif group == "tag":
        yield from ((tag, failed) for tag in row["tags"])
    elif group == "tenant" and row["tenant"] is not None:
        yield row["tenant"], failed
    elif group == "error" and failed and detail:
        yield detail, failed


def add_up(groups: Iterable[SessionGroup], *, by_cost: bool, of_errors: bool) -> list[SessionGroup]:
    """Return one group for each name: most failures first, or with `by_cost` the most expensive.

    With `of_errors`, the names are details of failures, and those of one kind are added up.
    """
    sums: dict[str, SessionGroup] = {}
    for group in groups:
        name = error_name(group.name) if of_errors else group.name
        before = sums.get(name, SessionGroup(name, 0, 0, 0))
        sums[name] = SessionGroup(
            name,
            before.sessions + group.sessions,
            before.failed + group.failed,
            before.cost_micros + group.cost_micros,
        )
    numbers = {name: (group.failed, group.sessions, group.cost_micros) for name, group in sums.items()}
    return sorted(
        sums.values(),
        key=lambda group: (
            -group.cost_micros if by_cost else 0,
            *(-number for number in numbers[group.name]),
            group.name,
        ),
    )

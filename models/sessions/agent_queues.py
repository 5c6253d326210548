"""Queues of agents: which queue a turn needs, and which queues a worker serves.

A queue of agents has a short name, such as `gpu`. Its name in the broker begins with the name of the common queue:
`symposia.on.gpu`. What a turn needs is one line of text, because a turn that waits stores it: the name of its agent, with
the queue if it needs one.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Annotated, Final

from pydantic import AfterValidator

from ..errors import InvalidInput

#: Maximum characters of the short name of a queue.
MAX_QUEUE_NAME: Final = 60
_NAME = rf"[A-Za-z0-9._-]{{1,{MAX_QUEUE_NAME}}}"
_NEED: Final = re.compile(rf"(.*) \(queue ({_NAME})\)", re.DOTALL)
_INFIX: Final = ".on."
#: Name of the common queue in options; no queue of agents may have this name.
COMMON: Final = "common"


def _check_name(name: str) -> str:
    if not re.fullmatch(_NAME, name) or name == COMMON:
        raise ValueError(f"must be 1 to {MAX_QUEUE_NAME} letters, digits or . _ - and not `{COMMON}`")
    return name


#: Short name of a queue of agents.
AgentQueueName = Annotated[str, AfterValidator(_check_name)]


def broker_queue(common_queue: str, queue: str) -> str:
    """Return the name that a queue of agents has in the broker, and in Celery's option `-Q`."""
    return f"{common_queue}{_INFIX}{queue}"


def consumed_queues(common_queue: str, queues: Iterable[str], *, takes_common: bool) -> str:
    """Return the value of Celery's option `-Q` for a worker of these queues of agents."""
    named = [broker_queue(common_queue, queue) for queue in queues]
    return ",".join([common_queue, *named] if takes_common else named)


def queues_of_option(given: str, common_queue: str) -> str:
    """Return the value of Celery's option `-Q` for names such as `gpu,common`.

    Raises:
        InvalidInput: A name is no name of a queue.
    """
    names = [name.strip() for name in given.split(",")]
    for name in names:
        if not re.fullmatch(_NAME, name):
            rule = f"must be 1 to {MAX_QUEUE_NAME} letters, digits or . _ - for each queue"
            raise InvalidInput("--queue", given, rule)
    queues = [name for name in names if name != COMMON]
    return consumed_queues(common_queue, queues, takes_common=COMMON in names)


def format_need(agent: str, queue: str | None = None) -> str:
    """Return what a turn needs: an agent, and a queue unless it is None or empty."""
    return f"{agent} (queue {queue})" if queue else agent


def parse_need(need: str) -> tuple[str, str]:
    """Return the agent and the queue of `format_need`; the queue may be empty."""
    match = _NEED.fullmatch(need)
    return (match[1], match[2]) if match else (need, "")


@dataclass(frozen=True, slots=True)
class ServedQueues:
    """Queues whose turns a worker runs."""

    #: Name of the common queue in the broker.
    common_queue: str = ""
    #: Short names of its queues of agents.
    names: frozenset[str] = frozenset()
    #: Whether it also runs turns that need no queue.
    takes_common: bool = True

    @classmethod
    def of_consumed(cls, queues: Iterable[str], common_queue: str) -> ServedQueues:
        """Return what a worker serves that consumes these queues of the broker.

        A worker that consumes neither the common queue nor one of agents runs the turns that others hand on to it.
        """
        prefix = f"{common_queue}{_INFIX}"
        consumed = tuple(queues)
        names = frozenset(name.removeprefix(prefix) for name in consumed if name.startswith(prefix))
        return cls(common_queue, names, takes_common=not names or common_queue in consumed)

    def serves(self, queue: str) -> bool:
        """Return whether turns of a queue run here; empty: those that need none."""
        return queue in self.names if queue else self.takes_common


@dataclass(frozen=True, slots=True)
class AgentQueues:
    """Queues of a worker, as it announces them."""

    served: ServedQueues = ServedQueues()
    #: Queues of the agents in its agents file, by agent; an agent without one is left out.
    by_agent: Mapping[str, str] = field(default_factory=dict)

    def queue_of(self, agent: str, queue: str = "") -> str:
        """Return the queue of a turn: that of its participant, else that of its agent here, else ''."""
        return queue or self.by_agent.get(agent, "")

    def serve(self, agent: str, queue: str = "") -> bool:
        """Return whether turns of an agent run on this worker if it has the agent; `queue`: that of the participant."""
        return self.served.serves(self.queue_of(agent, queue))

"""Which worker runs a turn: names of queues, needs, and the routing rule."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from symposia.models.errors import InvalidInput
from symposia.models.sessions.agent_queues import (
    AgentQueues,
    ServedQueues,
    broker_queue,
    format_need,
    parse_need,
    queues_of_option,
)
from symposia.models.sessions.known_agents import KnownAgents
from symposia.models.sessions.options import AgentBinding
from symposia.state.presence import WorkerEntry, WorkerRoute
from symposia.state.worker_routes import WorkerRoutes, describe_awaited, find_unserved

NAMES = st.from_regex(r"[A-Za-z0-9._-]{1,60}", fullmatch=True)
FEW = st.sampled_from(("", "gpu", "cpu"))
AGENTS = ("ada", "ben")


@pytest.mark.parametrize("name", ["", "common", "a b", "gpu,cpu", "x" * 61, "größe", "gpu\n"])
def test_wrong_name_of_a_queue_is_refused(name):
    with pytest.raises(ValidationError, match="must be 1 to 60 letters, digits"):
        AgentBinding(agent="ada", queue=name)


def test_binding_without_a_queue_is_stored_as_before():
    assert "queue" not in AgentBinding(agent="ada").model_dump()
    bound = AgentBinding(agent="ada", queue="gpu")
    assert AgentBinding.model_validate(bound.model_dump()) == bound
    assert bound.with_agent("ben").queue is None


@given(st.text(max_size=30), NAMES)
def test_need_is_read_as_it_was_written(agent, queue):
    assert parse_need(format_need(agent, queue)) == (agent, queue)


@pytest.mark.parametrize(
    ("given_names", "consumed"),
    [("gpu", "s.on.gpu"), ("gpu, cpu", "s.on.gpu,s.on.cpu"), ("gpu,common", "s,s.on.gpu")],
)
def test_option_names_queues(given_names, consumed):
    assert queues_of_option(given_names, "s") == consumed
    served = ServedQueues.of_consumed(consumed.split(","), "s")
    assert served.takes_common is ("common" in given_names)
    with pytest.raises(InvalidInput):
        queues_of_option(given_names + ",a b", "s")


@pytest.mark.parametrize(
    "consumed", [[], ["s"], ["own"], ["s.agents.12"], ["s", "s.agents.12", "other.on.gpu"]]
)
def test_worker_without_queues_of_agents_takes_all_other_turns(consumed):
    served = ServedQueues.of_consumed(consumed, "s")
    assert (served.serves(""), served.serves("gpu")) == (True, False)


class Workers:
    """Live workers of a test."""

    def __init__(self, entries):
        self.entries = entries

    def list_alive(self):
        return self.entries


@st.composite
def entries(draw):
    """Workers as they announce themselves, which all have their queue, some agents, and perhaps queues of these."""
    result = []
    for number in range(draw(st.integers(0, 4))):
        served = ServedQueues("s", frozenset(draw(st.sets(FEW)) - {""}), takes_common=draw(st.booleans()))
        queues = AgentQueues(served, draw(st.dictionaries(st.sampled_from(AGENTS), FEW)))
        route = WorkerRoute(f"own{number}", tuple(draw(st.sets(st.sampled_from(AGENTS)))), queues=queues)
        route = WorkerRoute.read(route.as_json())
        result.append(
            WorkerEntry(f"w{number}", KnownAgents(draw(st.sets(st.sampled_from(AGENTS)))), 0, route=route)
        )
    return result


@given(entries(), st.sampled_from(AGENTS), FEW, st.booleans())
def test_route_leads_only_to_workers_that_can_run_the_turn(workers, agent, queue, takes_common):
    routes = WorkerRoutes(Workers(workers), served=lambda: ServedQueues(takes_common=takes_common))
    target = routes.to_agent(format_need(agent, queue), fresh=True)
    consumers = {worker.route.queue: [worker] for worker in workers}
    for name in ("gpu", "cpu"):
        consumers[broker_queue("s", name)] = [w for w in workers if name in w.route.queues.served.names]
    consumers[""] = [worker for worker in workers if worker.route.queues.served.takes_common]
    able = [
        worker
        for worker in workers
        if agent in worker.agents
        and agent not in worker.route.unable
        and worker.route.queues.served.serves(queue or worker.route.queues.by_agent.get(agent, ""))
    ]
    assert (target is None) == (not able)
    if target is not None:
        assert consumers[target], "a worker takes the message"
        assert all(worker in able for worker in consumers[target])


def test_agents_whose_queue_no_worker_serves_are_named():
    queues = AgentQueues(ServedQueues("s"), {"ada": "gpu", "ben": "cpu"})
    lacking = WorkerRoute("own", ("ada", "ben"), queues=queues, unserved=("ada", "ben"))
    workers = [WorkerEntry("w1", KnownAgents(["ada", "ben", "cyd"]), 0, route=lacking)]
    served = AgentQueues(ServedQueues("s", frozenset({"cpu"}), takes_common=False), queues.by_agent)
    workers.append(
        WorkerEntry("w2", KnownAgents(["ada", "ben"]), 0, route=WorkerRoute("two", ("ada",), queues=served))
    )
    assert find_unserved(workers) == ["ada (queue gpu)"]
    bindings = [("cyd", ""), ("ben", ""), ("cyd", "cpu"), ("ada", "")]
    assert find_unserved(workers, bindings) == ["ada (queue gpu)", "cyd (queue cpu)"]
    assert describe_awaited(["ada (queue gpu)", "eve", "ben (queue gpu)"]) == (
        "no worker knows agent eve; no worker of queue gpu knows agents ada, ben"
    )

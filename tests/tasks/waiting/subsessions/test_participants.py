"""A session that takes the turns of a participant."""

from __future__ import annotations

import asyncio
import dataclasses

import pytest
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.trace import TracerProvider

from symposia import AsyncClient
from symposia.agents.registry.registry import Registry
from symposia.jobs.reading import facts_of
from symposia.models.protocol.collab import CollabStatus
from symposia.models.sessions.stop_conditions import Deadline, MaxRounds, TokenBudget
from symposia.models.text.ids import attempt_span_id, trace_id
from symposia.state.presence import WorkerPresence
from symposia.state.worker_routes import AwaitedAgents, WorkerRoutes
from symposia.tasks.waiting.parked_turn import read_question
from symposia.tasks.waiting.subsessions.opening import open_child
from symposia.workers.tracing.provider import DerivedIds
from symposia.workers.tracing.session_tracing import SessionTracing


def outer(installation, **how):
    return installation.submit(
        "round_robin", {"ann": "ann", "panel": "panel"}, **{"stop": MaxRounds(1), **how}
    )


def test_last_message_of_a_session_is_the_turn(installation):
    job = outer(installation)
    installation.work()
    assert job.result().ok
    assert [(it.speaker, it.content) for it in job.messages()] == [
        ("ann", "a draft"),
        ("panel", "heard too long"),
    ]


def test_no_worker_waits_for_a_sub_session(installation):
    job = outer(installation)
    installation.deliver()  # plans the turn of ann
    installation.deliver()  # ann
    installation.deliver()  # panel
    (turn,) = job.state().open_turns()
    (child,) = job.children()
    assert (turn.status, turn.child) == ("parked", child.id)
    assert child.status() is CollabStatus.ACTIVE
    assert job.pending() == (), "no person can answer for it"


def test_worker_without_the_agent_opens_no_session(installation):
    job = outer(installation)
    for _ in range(3):
        installation.deliver()
    (turn,) = job.state().open_turns()
    asked = read_question(facts_of(job), job.state(), turn.number)
    stranger = dataclasses.replace(
        installation.runtime, agents=dataclasses.replace(installation.runtime.agents, registry=Registry())
    )
    end = open_child(stranger, asked, asked.waiting.child)
    assert end.text == "parked: its session opens when a worker knows agent panel"
    assert job.state().records[turn.number].status == "parked"


def test_session_waits_for_an_agent_that_no_worker_announces(installation):
    job, client = outer(installation), installation.runtime.store.client
    presence = WorkerPresence(client)
    presence.announce("w@elsewhere", ["ann"])
    installation.queue.routes = WorkerRoutes(presence)
    for _ in range(3):
        installation.deliver()
    (turn,) = job.state().open_turns()
    assert (turn.status, list(job.children())) == ("parked", [])
    assert AwaitedAgents(client).count() == {"cat": 1}, "doctor shows it"
    presence.announce("w@elsewhere", installation.runtime.agents.registry.known())
    asked = read_question(facts_of(job), job.state(), turn.number)
    open_child(installation.runtime, asked, asked.waiting.child)
    assert len(job.children()) == 1


def test_session_begins_with_what_its_participant_may_see(installation):
    job = outer(installation)
    installation.work()
    (child,) = job.children()
    first = next(iter(child.messages()))
    assert (first.content, first.speaker, first.former_speaker) == ("a draft", None, "ann")


def test_child_inherits_what_its_parent_has(installation):
    job = outer(
        installation,
        tenant="acme",
        priority="high",
        owner="ann",
        stop=MaxRounds(1) | Deadline(600) | TokenBudget(1_000),
    )
    installation.work()
    (child,) = job.children()
    limits = child.spec.stop
    assert (child.spec.tenant, child.spec.priority, child.spec.owner) == ("acme", "high", "ann")
    assert child.parent.session_id == child.parent.root == job.id
    assert (child.parent.turn, child.parent.depth) == (2, 1)
    assert child.collab().context_id == job.collab().context_id
    deadline = next(it for it in limits.leaves() if isinstance(it, Deadline))
    budget = next(it for it in limits.leaves() if isinstance(it, TokenBudget))
    assert 590 < deadline.seconds <= 600
    assert budget.tokens == 985, "what ann has left"


def test_usage_of_a_session_is_that_of_its_turn(installation):
    job = outer(installation, stop=MaxRounds(1) | TokenBudget(1_000))
    installation.work()
    assert job.state().usage.tokens == 15 + 120 + 230
    assert job.usage()["panel"].tokens == 350
    assert installation.runtime.store.client.hget(f"symposia:{{{job.id}}}:session", "reserved_tokens") == "0"


def test_budget_stays_reserved_while_a_session_runs(installation):
    job = outer(installation, stop=MaxRounds(1) | TokenBudget(1_000))
    for _ in range(3):
        installation.deliver()
    (turn,) = job.state().open_turns()
    assert turn.reserved.tokens == 985


def test_session_that_fails_fails_the_turn(installation):
    job = outer(installation, policies={"panel": {"then": "skip"}})
    for _ in range(3):
        installation.deliver()
    (child,) = job.children()
    child.cancel("bad weather")
    installation.work()
    assert job.result().ok
    events = [it for it in job.events() if it.event_type == "MAPTurnCompleted"]
    assert events[-1].payload["result"]["outcome"] == "skipped"
    assert "bad weather" in events[-1].payload["result"]["error"]


def test_inline_session_needs_no_agents_file(make_installation):
    installation = make_installation("")
    panel = {
        "title": "Inside",
        "purpose": "echo",
        "mode": "round_robin",
        "participants": [{"participant_id": "echo"}],
        "stop": {"max_rounds": 1},
    }
    job = installation.submit(
        "round_robin", {"panel": {"session": panel}}, stop=MaxRounds(1), messages=["hello"]
    )
    installation.work()
    assert [it.content for it in job.messages()] == ["hello", "hello"]


def test_session_file_travels_as_its_content(installation, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    job = installation.submit(
        "round_robin", {"panel": {"session": "panel.yaml"}}, stop=MaxRounds(1), messages=["a text"]
    )
    (tmp_path / "panel.yaml").unlink()
    installation.work()
    assert job.result().ok
    assert job.spec.agents["panel"].session["title"] == "A panel"


def test_sessions_nest_to_the_maximum_depth(make_installation):
    installation = make_installation("", max_subsession_depth=3)
    job = installation.submit(
        "round_robin", {"x": {"session": nested(2)}}, stop=MaxRounds(1), messages=["deep"]
    )
    installation.work()
    assert [it.content for it in job.messages()] == ["deep", "deep"]
    assert len(job.descendants()) == 3
    with pytest.raises(ValueError, match="nested too deep"):
        installation.submit("round_robin", {"x": {"session": nested(3)}}, stop=MaxRounds(1))


def test_trace_of_a_child_links_to_the_turn_it_answers(installation):
    ids = DerivedIds()
    tracing = SessionTracing(TracerProvider(id_generator=ids, shutdown_on_exit=False), ids, MeterProvider())
    installation.runtime = dataclasses.replace(
        installation.runtime, ports=dataclasses.replace(installation.runtime.ports, tracing=tracing)
    )
    job = outer(installation)
    installation.work()
    (child,) = job.children()
    assert child.spec.submitted_in == f"00-{trace_id(job.id)}-{attempt_span_id(job.id, 2, 1)}-01"


def test_async_jobs_have_children(installation):
    job = outer(installation)
    installation.work()

    async def main():
        async with AsyncClient(installation.settings) as client:
            found = await client.get_job(job.id)
            (child,) = await found.children()
            assert child.parent.session_id == job.id
            assert found.parent is None
            assert [it.session_id for it in await found.descendants()] == [child.id]

    asyncio.run(main())


def nested(levels: int) -> dict[str, object]:
    """A session with that many levels of sessions inside."""
    inner: object = "echo" if levels == 0 else {"session": nested(levels - 1)}
    return {
        "title": f"Level {levels}",
        "purpose": "pass it on",
        "mode": "round_robin",
        "participants": [{"participant_id": "x"}],
        "agents": {"x": inner},
        "stop": {"max_rounds": 1},
    }


def test_substitute_that_is_a_session_is_opened_as_another_one(installation):
    person = {"agent": "human", "wait": {"deadline_s": 0.2, "then": "cancel"}}
    silent = {
        "title": "A silent panel",
        "purpose": "wait",
        "mode": "round_robin",
        "participants": [{"participant_id": "dan", "kind": "human"}],
        "agents": {"dan": person},
        "stop": {"max_rounds": 1},
    }
    policy = {"attempts": 1, "then": "substitute", "substitute": "panel"}
    agents = {"ann": "ann", "silent": {"session": silent}}
    job = installation.submit("round_robin", agents, stop=MaxRounds(1), policy=policy)
    installation.work()
    (first,) = job.children()
    installation.sweep_until(first, lambda: job.state().is_final)
    assert [it.state().reason for it in job.children()] == ["no_answer", "max_rounds"]
    assert job.result().ok
    assert [it.content for it in job.messages()] == ["a draft", "heard too long"]

"""Agents that are Python callables."""

from __future__ import annotations

import asyncio
import contextvars
import re
import subprocess
import sys
import threading

import pytest

from scaling import patient
from stub_agents import callables
from symposia.agents.execution.threads import DaemonThreadPool
from symposia.agents.kinds.python import PythonAgent, load_callable
from symposia.agents.registry.registry import Registry
from symposia.models.errors import AgentFailed, AgentTimeout, BadOutcome
from symposia.models.sessions.options import AgentBinding
from symposia.models.turns.turn import TurnOutcome


@pytest.fixture
def speak(runner, turn):
    def spoken(name, *, timeout_s=None):
        agent = PythonAgent(load_callable(f"stub_agents.callables:{name}"), threads=DaemonThreadPool(limit=4))
        return runner.run(agent, turn(), timeout_s=timeout_s or patient(10))

    return spoken


@pytest.mark.parametrize("name", ["greet", "greet_later", "greeter", "greeter.method", "partly"])
def test_functions_methods_and_objects_may_be_agents(speak, name):
    assert speak(name) == TurnOutcome.say("hello from ann")


def test_outcome_is_returned_unchanged(speak):
    assert speak("outcome") == TurnOutcome(hand_off="bob")


def test_half_a_character_is_replaced(speak):
    assert speak("half_a_character") == TurnOutcome.say("\ufffd")


def test_returning_none_is_a_pass(speak):
    assert speak("nothing") == TurnOutcome.skip_turn()


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("blank", "outcome: must not be blank; return None to pass (got '  ')"),
        ("number", "outcome: must be text, a TurnOutcome, a model, a dict, a list or None (got 7)"),
    ],
)
def test_answer_of_a_wrong_type_is_refused(speak, name, said):
    with pytest.raises(BadOutcome) as error:
        speak(name)
    assert str(error.value) == said


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("wrong", "LookupError: no such thing"),
        ("stops", "RuntimeError: StopIteration"),
        ("leaves", "SystemExit: 2"),
    ],
)
def test_any_exception_fails_the_turn(speak, name, said):
    with pytest.raises(AgentFailed) as error:
        speak(name)
    # Its place follows, where the agent's own code raised it.
    assert re.fullmatch(rf"{re.escape(said)}( \(stub_agents/callables\.py:\d+\))?", str(error.value))


def test_sync_callable_runs_in_a_callable_thread(speak):
    assert speak("thread_name").messages[0].content == "symposia-callable"


def test_sync_callable_sees_the_context_variables(speak):
    context = contextvars.copy_context()
    context.run(callables.mood.set, "merry")
    assert context.run(speak, "say_mood") == TurnOutcome.say("merry")


def test_overdue_sync_callable_is_abandoned(speak):
    callables.release.clear()
    try:
        with pytest.raises(AgentTimeout):
            speak("wait_for_release", timeout_s=0.05)
    finally:
        callables.release.set()


def test_parallel_callables_are_limited_by_threads(runner, turn):
    callables.release.clear()
    callables.running = threading.Semaphore(0)
    agent = PythonAgent(callables.wait_for_release, threads=DaemonThreadPool(limit=2))
    speaking = [runner.start(agent, turn(), timeout_s=patient(30)) for _ in range(5)]
    try:
        assert callables.running.acquire(timeout=patient(5))
        assert callables.running.acquire(timeout=patient(5))
        assert not callables.running.acquire(timeout=0.1)
    finally:
        callables.release.set()
    assert [each.result() for each in speaking] == [TurnOutcome.say("released")] * 5


def test_call_cancelled_while_waiting_never_starts(runner, turn):
    callables.release.clear()
    callables.running = threading.Semaphore(0)
    threads = DaemonThreadPool(limit=1)
    first = threads.submit(lambda: callables.wait_for_release(turn()))
    assert callables.running.acquire(timeout=patient(5))
    never = threads.submit(lambda: pytest.fail("it ran"))
    assert never.cancel()
    callables.release.set()
    assert first.result(patient(5)) == "released"
    assert threads.submit(lambda: "next").result(patient(5)) == "next"


def test_hanging_callable_does_not_block_process_exit():
    program = """
import threading
from symposia.agents.registry.registry import Registry
from symposia.agents.execution.threads import DaemonThreadPool
DaemonThreadPool(limit=1).submit(threading.Event().wait)
"""
    assert (
        subprocess.run([sys.executable, "-P", "-c", program], timeout=patient(30), check=False).returncode
        == 0
    )


@pytest.mark.parametrize(
    ("path", "why"),
    [
        ("no_such_module:f", "no_such_module:f: ModuleNotFoundError: No module named 'no_such_module'"),
        ("stub_agents.callables:no_such", "has no attribute 'no_such'"),
        ("stub_agents.callables:not_callable", "not_callable is not callable"),
    ],
)
def test_unloadable_code_is_reported_and_not_retried(path, why):
    with pytest.raises(AgentFailed) as error:
        load_callable(path)
    assert why in str(error.value)
    assert not error.value.retryable


def test_every_turn_has_a_thread_for_its_callable(turn, tmp_path):
    path = tmp_path / "agents.toml"
    path.write_text('[agents.meet]\nkind = "python"\ncallable = "stub_agents.callables:meet"\n')
    together = 40
    callables.BARRIER = threading.Barrier(together)
    agent = Registry.load(path, concurrency=together).get_agent(AgentBinding(agent="meet"))

    async def all_at_once() -> list[TurnOutcome]:
        return await asyncio.gather(*(agent.speak(turn()) for _ in range(together)))

    assert len(asyncio.run(all_at_once())) == together

"""The runner: deadlines, cancellation, errors of one kind, one loop a process, and the instant path."""

from __future__ import annotations

import asyncio
import json
import os
import pickle
import signal
import sys
import threading

import pytest

from scaling import patient
from symposia.agents.execution.runner import AgentRunner
from symposia.models.errors import AgentFailed, AgentTimeout, BadOutcome, LeaseLost, SessionNotFound
from symposia.models.turns.turn import DraftMessage, TurnOutcome, Usage

#: Limit of the functions that a turn of an instant agent calls: no event loop, no thread.
MAX_CALLS = 100


class Speaks:
    """An agent that does what it is given."""

    def __init__(self, action):
        self.action = action

    async def speak(self, turn):
        answer = self.action(turn)
        return await answer if asyncio.iscoroutine(answer) else answer


class SpeaksNow:
    def __init__(self, action):
        self.action = action

    def speak_now(self, turn):
        return self.action(turn)


def raising(error):
    def action(_turn):
        raise error

    return action


def test_outcome_of_the_agent_is_returned(runner, turn):
    agent = Speaks(lambda turn: TurnOutcome.say(f"turn {turn.turn_number}"))
    assert runner.run(agent, turn(turn_number=4), timeout_s=patient(5)) == TurnOutcome.say("turn 4")


@pytest.mark.parametrize(("raised", "expected"), [(Exception, AgentTimeout), (BaseException, BaseException)])
def test_agent_is_cancelled_when_its_thread_is_interrupted(runner, turn, raised, expected):
    """As by Celery's soft time limit, and by gevent's timeout."""
    cancelled = threading.Event()

    class TimeLimit(raised):
        pass

    def interrupt(*_):
        raise TimeLimit

    async def wait(_turn):
        while sys._current_frames()[threading.main_thread().ident].f_code.co_name != "wait":  # noqa: ASYNC110
            await asyncio.sleep(0.01)
        os.kill(os.getpid(), signal.SIGUSR1)
        try:
            await asyncio.sleep(3_600)
        finally:
            cancelled.set()

    before = signal.signal(signal.SIGUSR1, interrupt)
    try:
        with pytest.raises(expected):
            runner.run(Speaks(wait), turn(), timeout_s=patient(30))
    finally:
        signal.signal(signal.SIGUSR1, before)
    assert cancelled.wait(patient(5))


def test_slow_agent_is_cancelled_at_its_deadline(runner, turn):
    cancelled = threading.Event()

    async def dawdle():
        try:
            await asyncio.sleep(3_600)
        except asyncio.CancelledError:
            cancelled.set()
            raise

    with pytest.raises(AgentTimeout, match=r"no answer within 0\.05 s") as error:
        runner.run(Speaks(lambda _: dawdle()), turn(), timeout_s=0.05)
    assert error.value.retryable
    assert cancelled.wait(patient(5))


def test_deadline_stops_an_agent_that_blocks_the_loop(runner, turn):
    release = threading.Event()
    try:
        with pytest.raises(AgentTimeout):
            runner.run(Speaks(lambda _: release.wait(patient(30))), turn(), timeout_s=0.05)
    finally:
        release.set()


def test_deadline_stops_an_agent_that_ignores_cancel(runner, turn):
    stop = threading.Event()

    async def stubborn():
        while not stop.is_set():
            try:
                await asyncio.sleep(0.01)
            except asyncio.CancelledError:
                continue

    try:
        with pytest.raises(AgentTimeout):
            runner.run(Speaks(lambda _: stubborn()), turn(), timeout_s=0.05)
    finally:
        stop.set()


def test_a_turn_without_time_left_is_a_timeout(runner, turn):
    with pytest.raises(AgentTimeout):
        runner.run(Speaks(lambda _: asyncio.sleep(60)), turn(), timeout_s=-1)


def test_a_turn_can_be_cancelled_from_another_thread(runner, turn):
    speaking = runner.start(Speaks(lambda _: asyncio.sleep(60)), turn(turn_number=7), timeout_s=patient(60))
    threading.Thread(target=speaking.cancel).start()
    with pytest.raises(LeaseLost, match="turn 7"):
        speaking.result()


def test_cancelled_run_raises_the_given_error(runner, turn):
    with pytest.raises(SessionNotFound):
        runner.run(
            Speaks(lambda _: asyncio.sleep(60)),
            turn(),
            timeout_s=patient(60),
            on_start=lambda speaking: speaking.cancel(SessionNotFound("it")),
        )


def test_cancelling_a_finished_turn_changes_nothing(runner, turn):
    speaking = runner.start(Speaks(lambda _: TurnOutcome.say("in time")), turn(), timeout_s=patient(5))
    assert speaking.result() == TurnOutcome.say("in time")
    speaking.cancel()
    assert speaking.result() == TurnOutcome.say("in time")


@pytest.mark.parametrize("kind", [Speaks, SpeaksNow])
def test_agent_exception_becomes_one_line(runner, turn, kind):
    error = ValueError("first\nsecond  line")
    with pytest.raises(
        AgentFailed, match=r"^ValueError: first second line \(\S*test_runner.py:\d+\)$"
    ) as caught:
        runner.run(kind(raising(error)), turn(), timeout_s=patient(5))
    assert caught.value.retryable
    assert caught.value.__cause__ is error
    assert str(pickle.loads(pickle.dumps(caught.value))) == str(caught.value)  # noqa: S301


@pytest.mark.parametrize("kind", [Speaks, SpeaksNow])
def test_agent_error_is_raised_unchanged(runner, turn, kind):
    with pytest.raises(AgentFailed, match=r"^no more$") as caught:
        runner.run(kind(raising(AgentFailed("no more", retryable=False))), turn(), timeout_s=patient(5))
    assert not caught.value.retryable


@pytest.mark.parametrize(
    "error", [SystemExit(3), KeyboardInterrupt(), TimeoutError(), asyncio.CancelledError()]
)
def test_no_agent_can_end_the_shared_loop(runner, turn, error):
    with pytest.raises(AgentFailed):
        runner.run(Speaks(raising(error)), turn(), timeout_s=patient(5))
    assert runner.run(
        Speaks(lambda _: TurnOutcome.say("on")), turn(), timeout_s=patient(5)
    ) == TurnOutcome.say("on")


@pytest.mark.parametrize(
    "text",
    [
        "cannot reach redis://user:hunter2@host/0",
        "Authorization: Bearer hunter2",
        "api_key=hunter2",
        "{'password': 'hunter2'}",
        "Incorrect API key provided: sk-hunter2-hunter2",
    ],
)
def test_a_credential_in_an_error_is_not_shown(runner, turn, text):
    with pytest.raises(AgentFailed) as caught:
        runner.run(Speaks(raising(RuntimeError(text))), turn(), timeout_s=patient(5))
    assert "hunter2" not in str(caught.value)
    assert "***" in str(caught.value)


def test_a_very_long_error_is_cut(runner, turn):
    with pytest.raises(AgentFailed) as caught:
        runner.run(Speaks(raising(RuntimeError("x" * 10_000))), turn(), timeout_s=patient(5))
    assert len(str(caught.value)) < 400


@pytest.mark.parametrize("kind", [Speaks, SpeaksNow])
@pytest.mark.parametrize(
    ("outcome", "said"),
    [
        (None, "outcome: must be a TurnOutcome (got None)"),
        ("text", "outcome: must be a TurnOutcome (got 'text')"),
        (
            TurnOutcome(),
            "outcome: must contain a message, decision, hand-off, item or question, or pass (got a TurnOutcome)",
        ),
        (TurnOutcome.say(" \n"), "messages[0].content: must not be blank (got ' \\n')"),
        (TurnOutcome.say("x" * 101), "messages[0].content: must be at most 100 bytes (got 101 bytes)"),
        (TurnOutcome.say("é" * 51), "messages[0].content: must be at most 100 bytes (got 102 bytes)"),
        (
            TurnOutcome(messages=(DraftMessage(content="fine"), DraftMessage(content="\t"))),
            "messages[1].content: must not be blank (got '\\t')",
        ),
        (
            TurnOutcome.say("fine").model_copy(update={"usage": Usage(requests=10**12 + 1)}),
            "usage: must have no amount above 1000000000000 (got a mapping of 5)",
        ),
        (
            TurnOutcome.say("fine").model_copy(update={"hand_off": "x" * 1_001}),
            f"hand_off: must have at most 1000 characters (got '{'x' * 76}...)",
        ),
        (
            TurnOutcome.say("fine").model_copy(update={"messages": (DraftMessage(content="x"),) * 101}),
            "messages: must have at most 100 items (got a list of 101)",
        ),
    ],
)
def test_invalid_outcome_names_field_rule_and_value(turn, kind, outcome, said):
    runner = AgentRunner(max_message_bytes=100)
    try:
        with pytest.raises(BadOutcome) as caught:
            runner.run(kind(lambda _: outcome), turn(), timeout_s=patient(5))
    finally:
        runner.close()
    assert str(caught.value) == said
    assert not caught.value.retryable


def test_message_of_exactly_the_limit_is_accepted(turn):
    runner = AgentRunner(max_message_bytes=100)
    full = TurnOutcome.say("é" * 50)
    assert runner.run(SpeaksNow(lambda _: full), turn(), timeout_s=patient(5)) == full


@pytest.mark.parametrize("kind", [Speaks, SpeaksNow])
def test_output_without_a_message_is_also_the_text(runner, turn, kind):
    outcome = runner.run(kind(lambda _: TurnOutcome(output={"count": 2})), turn(), timeout_s=patient(5))
    assert (outcome.output, outcome.messages[0].content) == ({"count": 2}, '{"count":2}')


def test_output_beside_a_message_keeps_the_text(runner, turn):
    spoken = TurnOutcome.say("Two.").model_copy(update={"output": 2})
    assert runner.run(SpeaksNow(lambda _: spoken), turn(), timeout_s=patient(5)) == spoken


@pytest.mark.parametrize(
    ("output", "said"),
    [
        ("x" * 99, "output: must be at most 100 bytes (got 101 bytes)"),
        (json.loads("[" * 65 + "]" * 65), "output: must not nest lists and objects deeper than 64 levels"),
        ("\ud800", "outcome: must be valid UTF-8 text"),
    ],
)
def test_output_keeps_the_limits_of_messages(turn, output, said):
    runner = AgentRunner(max_message_bytes=100)
    with pytest.raises(BadOutcome) as caught:
        runner.run(SpeaksNow(lambda _: TurnOutcome(output=output)), turn(), timeout_s=patient(5))
    assert str(caught.value).startswith(said)


def test_all_turns_of_a_process_share_one_loop_thread(runner, turn):
    seen = set()

    def where(_turn):
        seen.add((threading.get_ident(), id(asyncio.get_running_loop())))
        return TurnOutcome.say("here")

    def one():
        runner.run(Speaks(where), turn(), timeout_s=patient(5))

    threads = [threading.Thread(target=one) for _ in range(20)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(seen) == 1
    assert threading.get_ident() not in {ident for ident, _ in seen}


def test_turns_wait_in_parallel(runner, turn):
    meet = asyncio.Barrier(10)

    async def meeting():
        await meet.wait()
        return TurnOutcome.say("met")

    speaking = [runner.start(Speaks(lambda _: meeting()), turn(), timeout_s=patient(10)) for _ in range(10)]
    assert [each.result() for each in speaking] == [TurnOutcome.say("met")] * 10


def test_instant_agent_answers_in_the_calling_thread(turn):
    before = set(threading.enumerate())
    where = []
    agent = SpeaksNow(lambda _: where.append(threading.get_ident()) or TurnOutcome.say("now"))
    assert AgentRunner().run(agent, turn(), timeout_s=patient(5)) == TurnOutcome.say("now")
    assert where == [threading.get_ident()]
    assert set(threading.enumerate()) <= before


def test_instant_turn_calls_few_functions(turn):
    runner, agent, context = AgentRunner(), SpeaksNow(lambda _: said), turn()
    said = TurnOutcome.say("now")
    called = []
    before = sys.getprofile()
    sys.setprofile(lambda _frame, event, _arg: called.append(event))
    try:
        runner.start(agent, context, timeout_s=patient(5)).result()
    finally:
        sys.setprofile(before)
    assert len([it for it in called if it.endswith("call")]) < MAX_CALLS


def test_closed_runner_cancels_and_can_be_used_again(turn):
    before = set(threading.enumerate())
    runner = AgentRunner()
    speaking = runner.start(Speaks(lambda _: asyncio.sleep(60)), turn(), timeout_s=patient(60))
    runner.close()
    with pytest.raises(AgentFailed, match="cancelled"):
        speaking.result()
    assert not [it for it in set(threading.enumerate()) - before if it.name == "symposia-agents"]
    assert runner.run(Speaks(lambda _: TurnOutcome.say("again")), turn(), timeout_s=patient(5))
    runner.close()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="forks processes")
@pytest.mark.filterwarnings("ignore:This process.*is multi-threaded:DeprecationWarning")
def test_forked_child_makes_its_own_event_loop(runner, turn):
    agent = Speaks(lambda _: TurnOutcome.say(str(os.getpid())))
    parent = runner.run(agent, turn(), timeout_s=patient(5))
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        status = 1
        try:
            said = runner.run(agent, turn(), timeout_s=patient(5)).messages[0].content
            os.write(writing, said.encode())
            status = 0
        finally:
            sys.stdout.flush()
            os._exit(status)
    os.close(writing)
    _, status = os.waitpid(child, 0)
    with os.fdopen(reading) as pipe:
        assert pipe.read() == str(child)
    assert os.waitstatus_to_exitcode(status) == 0
    assert runner.run(agent, turn(), timeout_s=patient(5)) == parent


def test_blocked_event_loop_is_logged(runner, turn, caplog):
    release = threading.Event()

    def hold_the_loop(_turn):
        release.wait(patient(30))

    try:
        with pytest.raises(AgentTimeout):
            runner.run(Speaks(hold_the_loop), turn(), timeout_s=0.1)
    finally:
        release.set()
    [message] = [record.getMessage() for record in caplog.records if "blocked" in record.getMessage()]
    assert "hold_the_loop (" in message

"""Reading along while a model speaks: as it comes, from the middle, and across attempts."""

from __future__ import annotations

import threading

import pytest

from live import result_of, until
from servers.model_stub import completion
from sessions.reader import Reader
from symposia.models.sessions.stop_conditions import MaxTurns
from symposia.models.turns.streaming import ToolEvent
from symposia.state.redis.connect import connect
from symposia.state.redis.keys import session_key

#: On a machine with much else to do.
pytestmark = pytest.mark.timeout(240)

TEXT = "one two three four five six seven eight nine ten"
MODELS = """
[models.stub]
model = "stub"
base_url = "{url}"
request_timeout_s = 60

[agents.model]
kind = "llm"
model = "stub"
"""


AGENTS = {"bob": "gated", "ann": "model"}


def talk(installation):
    """A session in which a model answers second, and a reader from before that turn."""
    gate = installation.folder / "gate"
    job = installation.submit(
        "round_robin", AGENTS, stop=MaxTurns(2), parameters={"gate": str(gate), "gate_turn": 1}
    )
    reader = Reader(job.stream())
    with connect(installation.redis_url) as client:
        key = session_key(job.id, "listening")
        until(lambda: client.exists(key), timeout_s=90, what="the reader is there")
    gate.touch()
    return job, reader


FIRST = "bob speaks in turn 1"


def test_text_is_streamed_before_the_commit(shared, shared_model):
    gate = threading.Event()
    shared_model.answers(completion(TEXT, pause=gate, pause_after=3))
    _, reader = talk(shared)
    reader.sees("one two three")
    assert reader.written == [FIRST]
    gate.set()
    assert reader.finish() == [FIRST, TEXT]
    assert not list(reader.drafts)


def test_returning_reader_sees_the_same_text(shared, shared_model):
    gate = threading.Event()
    shared_model.answers(completion(TEXT, pause=gate, pause_after=5))
    job, stayed = talk(shared)
    stayed.sees("one two three four five")
    came_back = Reader(shared.client.get_job(job.id).stream())
    came_back.sees("one two three four five")
    gate.set()
    assert stayed.finish() == came_back.finish() == [FIRST, TEXT]


@pytest.mark.long
def test_text_of_a_killed_attempt_is_withdrawn(installation, model, checked):
    never = threading.Event()
    model.answers(completion("lost words", pause=never, pause_after=2), completion(TEXT))
    first = installation.start_worker()
    job, reader = talk(installation)
    reader.sees("lost words")
    first.kill()
    installation.start_worker()
    assert reader.finish() == [FIRST, TEXT]
    after = reader.seen[reader.seen.index("lost words") + 1 :]
    assert after[0] == "", "the lost words are taken back"
    assert all(TEXT.startswith(text) for text in after)
    late = Reader(installation.client.get_job(job.id).stream())
    assert late.finish() == [FIRST, TEXT]
    assert late.seen == []
    checked(job, result_of(job))


def test_tool_calls_are_seen_in_a_live_session(installation, model, checked):
    agents = installation.folder / "agents.toml"
    tools = '[agents.adder]\nkind = "llm"\nmodel = "stub"\ntools = ["add"]\n\n[tools.add]\ncallable = "stub_agents.tools:add"\n'
    agents.write_text(agents.read_text() + tools)
    model.answers(completion(tool=("add", {"a": 2, "b": 3})), completion("It is 5."))
    installation.start_worker()
    job = installation.submit("round_robin", {"ann": "adder"}, stop=MaxTurns(1))
    result = result_of(job, timeout_s=90)
    # Who comes late sees them, too, before the message of their turn.
    seen = list(filter(None, job.live()))
    begin, end = [it for it in seen if isinstance(it, ToolEvent)]
    assert (begin.participant_id, begin.turn_number, begin.name, begin.arguments) == (
        "ann",
        1,
        "add",
        '{"a":2,"b":3}',
    )
    assert (begin.status, begin.duration_ms, end.status) == ("running", None, "ok")
    assert begin.call_id == end.call_id
    spoken = next(at for at, it in enumerate(seen) if getattr(it, "messages", ()))
    assert seen.index(begin) < seen.index(end) < spoken
    with connect(installation.redis_url) as client:
        assert client.pttl(session_key(job.id, "tools")) > 0
    checked(job, result)


@pytest.mark.parametrize("end", ["cut", "ends_early"])
@pytest.mark.long
def test_aborted_model_stream_is_no_answer(shared, shared_model, end):
    shared_model.answers(completion("broken off", pause_after=2, **{end: True}), completion(TEXT))
    _, reader = talk(shared)
    assert reader.finish() == [FIRST, TEXT]


def test_live_text_expires(shared, shared_model):
    job, reader = talk(shared)
    reader.finish()
    with connect(shared.redis_url) as client:
        for part in ("deltas", "listening"):
            key = session_key(job.id, part)
            until(
                lambda key=key: client.exists(key),
                what="the words are sent, if only after the turn was written",
            )
            assert client.pttl(key) > 0


@pytest.mark.long
def test_nothing_is_published_without_readers(shared, shared_model):
    job = shared.submit("round_robin", {"ann": "model", "bob": "say"}, stop=MaxTurns(1))
    result_of(job, timeout_s=90)
    assert not shared_model.asked[0].body.get("stream")
    with connect(shared.redis_url) as client:
        assert not client.exists(session_key(job.id, "deltas"))


@pytest.mark.long
def test_streaming_may_be_disabled(installation, model):
    registry = installation.folder / "agents.toml"
    registry.write_text(registry.read_text().replace("request_timeout_s = 60", "stream = false"))
    installation.start_worker()
    _, reader = talk(installation)
    assert reader.finish()[0] == FIRST
    assert not model.asked[0].body.get("stream")

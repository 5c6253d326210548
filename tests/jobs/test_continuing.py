"""Forks and continued sessions with typed outputs, sub-sessions and stops."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from sessions.inline_installation import InlineInstallation
from sessions.panels import AGENTS, PANEL
from symposia.models.errors import InvalidInput, SessionNotFound
from symposia.models.protocol.collab import CollabStatus
from symposia.models.sessions.stop_conditions import MaxRounds

TYPED = """
[agents.giver]
kind = "scripted"
replies = ['{"title": "given"}']

[agents.talker]
kind = "scripted"
replies = ["I only talk."]
"""
NUMBER = {"type": "integer"}
SCHEMA = {"type": "object", "required": ["title"]}
DOCUMENT = {
    "title": "A panel",
    "purpose": "judge the draft",
    "mode": "round_robin",
    "participants": [{"participant_id": "cat"}, {"participant_id": "dan"}],
    "stop": {"max_rounds": 1},
}
PAIR = {"ann": "giver", "bob": "talker"}


@pytest.fixture
def installation(tmp_path: Path, redis_url: str) -> Iterator[InlineInstallation]:
    """An installation whose sessions may have an output and sub-sessions."""
    (tmp_path / "panel.yaml").write_text(PANEL)
    made = InlineInstallation(tmp_path, redis_url, AGENTS + TYPED)
    yield made
    made.close()


def run(installation, agents, **how):
    job = installation.submit("round_robin", agents, **{"stop": MaxRounds(1), "record": True, **how})
    installation.work()
    return job


def test_fork_after_the_output_has_an_output(installation):
    job = run(installation, PAIR, output=SCHEMA, output_by="ann")
    assert job.result().output_data == {"title": "given"}
    for turn in (1, 2):
        fork = job.fork(at_turn=turn)
        installation.work()
        assert fork.result().ok
        assert fork.result().output_data == {"title": "given"}


def stopped(installation, *, turns):
    """A session with a closing turn, because it was asked to stop after some turns."""
    agents = {"ann": "talker", "bob": "talker"}
    job = installation.submit("round_robin", agents, stop=MaxRounds(5), output=NUMBER, record=True)
    for _ in range(turns + 1):
        installation.deliver()
    job.stop()
    installation.work()
    return job


@pytest.mark.parametrize("turns", [3, 4])
def test_closing_turn_of_a_stop_is_forked_and_replayed(installation, turns):
    job = stopped(installation, turns=turns)
    closing = job.state().next_number - 1
    assert installation.client.replay(job.id).turns == closing
    fork = job.fork(at_turn=closing)
    assert fork.spec.history.before_turn == closing
    installation.work()
    assert next(it.turn_number for it in fork.messages()) == closing


def test_fork_opens_sub_sessions_of_its_own(installation):
    job = run(installation, {"ann": "ann", "panel": "panel"})
    (child,) = job.children()
    for turn in (1, 2):
        fork = job.fork(at_turn=turn)
        installation.work()
        (other,) = fork.children()
        assert other.id != child.id
        assert other.parent.session_id == fork.id
        assert [it.content for it in fork.messages()] == [it.content for it in job.messages()][turn - 1 :]
        assert [it.content for it in other.messages()] == [it.content for it in child.messages()]
    assert len(job.children()) == 1


def test_fork_of_a_sub_session_answers_nobody(installation):
    job = run(installation, {"ann": "ann", "panel": "panel"})
    (child,) = job.children()
    fork = child.fork(at_turn=2)
    installation.work()
    assert fork.result().ok
    assert fork.parent is None
    assert len(list(job.messages())) == 2
    again = child.continue_with("More?")
    installation.work()
    assert again.result().ok
    assert again.parent is None


def test_sub_session_of_the_speaker_must_have_the_output(installation):
    job = run(installation, {"ann": "ann", "panel": "panel"}, output=SCHEMA, output_by="panel")
    assert job.status() is CollabStatus.CANCELLED
    assert "dan: must be valid under the JSON schema of the session's output" in job.state().detail
    giving = {"session": {**DOCUMENT, "agents": {"cat": "talker", "dan": "giver"}}}
    job = run(installation, {"ann": "ann", "panel": giving}, output=SCHEMA, output_by="panel")
    assert job.result().output_data == {"title": "given"}
    assert job.children()[0].result().output_data == {"title": "given"}


def test_output_of_another_schema_fails_the_turn(installation):
    other = {"session": {**DOCUMENT, "agents": {"cat": "talker", "dan": "giver"}, "output": SCHEMA}}
    job = run(installation, {"ann": "ann", "panel": other}, output=NUMBER, output_by="panel")
    assert (job.status(), job.state().reason) == (CollabStatus.CANCELLED, "failed")
    assert "$: {'title': 'given'} is not of type 'integer'" in job.state().detail


def test_output_before_the_last_message_is_that_of_the_turn(installation):
    typed = {"output": SCHEMA, "output_by": "cat"}
    panel = {"session": {**DOCUMENT, **typed, "agents": {"cat": "giver", "dan": "talker"}}}
    job = run(installation, {"ann": "ann", "panel": panel}, output=SCHEMA, output_by="panel")
    assert job.result().output_data == {"title": "given"}
    assert job.result().text == "I only talk."


def test_bad_values_get_one_line(installation):
    job = run(installation, PAIR)
    fork = job.fork(at_turn=2)
    installation.work()
    continuing = {"session": {**DOCUMENT, "continues": job.id}}
    cases = [
        (lambda: fork.fork(at_turn=1), "at_turn: must be the number of a turn, 2 to 2 (got 1)"),
        (lambda: job.fork(at_turn=1, agents=["ann"]), "agents: must be a table of participant ids"),
        (lambda: job.fork(at_turn=1, instruct="x"), "instruct: must be a table of participant ids"),
        (lambda: job.continue_with("x", agents=3), "agents: must be a table of participant ids"),
        (lambda: installation.client.submit(continues=3, messages=["x"]), "id: must be a session id"),
        (lambda: installation.client.thread(3), "id: must be a session id"),
        (lambda: installation.client.compare(job.id, 3), "id: must be a session id"),
        (lambda: installation.client.replay(None), "id: must be a session id"),
        (
            lambda: run(installation, {"ann": "ann", "panel": continuing}),
            "agents.panel.session.continues: must not be set in a sub-session",
        ),
    ]
    for act, line in cases:
        with pytest.raises(InvalidInput) as caught:
            act()
        assert str(caught.value).startswith(line)
        assert "\n" not in str(caught.value)


def test_sessions_go_on_without_their_origin(installation):
    """`symposia prune` keeps no session because a later one continues it."""
    job = run(installation, PAIR, stop=MaxRounds(2))
    fork = job.fork(at_turn=3)
    installation.work()
    client = installation.runtime.store.client
    client.delete(*client.keys(f"symposia:{{{job.id}}}:*"))
    again, other = fork.continue_with("More?"), fork.fork(at_turn=4)
    installation.work()
    assert again.result().ok
    assert other.result().ok
    assert installation.client.compare(fork.id, other.id).is_same
    with pytest.raises(SessionNotFound):
        job.continue_with("x")


def test_fork_equals_its_origin_in_a_comparison(installation):
    job = run(installation, PAIR, stop=MaxRounds(2))
    fork = job.fork(at_turn=3)
    other = job.fork(at_turn=3, agents={"bob": "giver"})
    installation.work()
    assert installation.client.compare(job.id, fork.id).is_same
    assert installation.client.compare(job.id, other.id).difference.position == 4


def test_fork_of_a_recorded_session_is_recorded_and_replayed(installation):
    job = run(installation, PAIR, stop=MaxRounds(2))
    for turn in (1, 2, 3, 4):
        fork = job.fork(at_turn=turn)
        assert fork.spec.record
        installation.work()
        assert installation.client.replay(fork.id).run_again == tuple(range(turn, 5))
    again = fork.fork(at_turn=4)
    installation.work()
    assert installation.client.replay(again.id).run_again == (4,)


def test_sessions_of_a_tree_are_replayed_one_by_one(installation):
    job = run(installation, {"ann": "ann", "panel": "panel"})
    assert installation.client.replay(job.id, rerun=["panel"]).taken == (2,)
    assert installation.client.replay(job.children()[0].id).run_again == (1, 2)


def test_cancelled_session_is_continued(installation):
    job = installation.submit("round_robin", PAIR, stop=MaxRounds(2))
    installation.deliver()
    installation.deliver()
    job.cancel()
    installation.work()
    again = job.continue_with("Go on.")
    installation.work()
    assert again.result().ok
    assert again.state().closed == 4

"""People without turns of their own, approvers and observers, are asked and answer like participants."""

from __future__ import annotations

import pytest

from symposia.models.errors import InvalidInput
from symposia.models.protocol.invariants import INVARIANTS

ASKING = """
[agents.asks]
kind = "python"
callable = "stub_agents.asking:in_text"

[agents.careful]
kind = "python"
callable = "stub_agents.asking:careful"

[guards.held]
kind = "deny"
words = ["done"]
then = "park"
to = "{name}"

[agents.guarded]
kind = "scripted"
guards = ["held"]
replies = ["Done."]
"""
PEOPLE = {"approvers": ["ann"], "observers": ["cyd"]}


@pytest.fixture
def begin(make_installation):
    def begin(agent="asks", name="ann", text="", **how):
        installation = make_installation(ASKING.format(name=name) + text)
        how = {"policy": {"attempts": 1, "then": "abort"}, "parameters": {"who": name}, **PEOPLE, **how}
        job = installation.submit("round_robin", {"ada": agent}, stop={"max_turns": 1}, **how)
        installation.work()
        return installation, job

    return begin


def said(job):
    return [(message.speaker, message.role, message.content) for message in job.messages()]


@pytest.mark.parametrize("name", ["ann", "cyd"])
def test_agent_asks_a_person_without_turns(begin, name):
    installation, job = begin(name=name)
    (question,) = installation.client.inbox(name)
    assert (question.asked, question.participant, question.is_own) == ((name,), "ada", False)
    job.reply(name, "yes")
    installation.work()
    assert said(job) == [
        ("ada", "agent", "I looked around."),
        ("ada", "agent", "May I?"),
        (name, "user", "yes"),
        ("ada", "agent", "Done."),
    ]
    assert job.status() == "completed"


def test_people_without_turns_are_no_participants(begin):
    installation, job = begin()
    job.reply("ann", "yes")
    installation.work()
    collab, messages, events = job.collab(), list(job.messages()), list(job.events())
    assert [it.participant_id for it in collab.participants] == ["ada"]
    assert not list(INVARIANTS["map_exclusive_write"].check(messages, events))
    assert set(job.usage()) == {"ada"}
    assert (job.spec.approvers, job.spec.observers) == (("ann",), ("cyd",))


def test_wait_policy_is_that_of_their_agent(begin):
    wait = '\n[agents.ann]\nkind = "human"\ndeadline_s = 0.05\nthen = "default"\ndefault = "go on"\n'
    installation, job = begin(text=wait)
    installation.sweep_until(job, lambda: job.state().is_final)
    assert ("ann", "user", "go on") in said(job)


def test_agent_of_another_kind_has_no_wait_policy(begin):
    _, job = begin(text='\n[agents.ann]\nkind = "scripted"\nreplies = ["no"]\n')
    (question,) = job.pending()
    assert question.asked == ("ann",)
    job.cancel()


def test_guard_asks_an_approver(begin):
    installation, job = begin("guarded")
    job.reply("ann", "approve")
    installation.work()
    assert said(job) == [("ada", "agent", "Done.")]


def test_guard_asks_no_observer(begin):
    _, job = begin("guarded", name="cyd")
    assert job.state().reason == "failed"
    assert "must be a participant of kind human or an approver: ann (got 'cyd')" in job.state().detail


def test_unknown_person_fails_the_turn(begin):
    _, job = begin("careful")
    rule = "must be a participant of kind human or an approver or an observer: ann, cyd (got 'ben')"
    assert rule in job.state().detail


def test_approver_cannot_join_as_participant(begin):
    _, job = begin()
    with pytest.raises(InvalidInput, match="must not be the name of an approver or observer"):
        job.add_participant("ann", agent="human")
    job.cancel()


def test_continued_session_has_the_same_people(begin):
    installation, job = begin()
    job.reply("ann", "yes")
    installation.work()
    spec = job.continue_with("Again, please.").spec
    assert (spec.approvers, spec.observers) == (("ann",), ("cyd",))


def test_session_file_names_the_people(make_installation, tmp_path):
    installation = make_installation(ASKING.format(name="ann"))
    (tmp_path / "session.yaml").write_text(
        "{title: t, purpose: p, mode: round_robin, participants: [{participant_id: ada, agent: asks}],"
        " approvers: [ann], observers: [cyd], stop: {max_turns: 1}}"
    )
    job = installation.client.submit(tmp_path / "session.yaml", observers=["dan"])
    assert (job.spec.approvers, job.spec.observers) == (("ann",), ("dan",))
    job.cancel()


@pytest.mark.parametrize(
    ("how", "line"),
    [
        ({"approvers": "ann"}, "approvers: must be a list of names (got 'ann')"),
        ({"approvers": [" "]}, "approvers[0]: must be a name of 1 to 200 characters (got ' ')"),
        ({"approvers": ["x" * 201]}, "approvers[0]: must be a name of 1 to 200 characters"),
        ({"observers": [7]}, "observers[0]: must be a name of 1 to 200 characters (got 7)"),
        ({"approvers": ["ada"]}, "approvers: must not be a participant"),
        ({"approvers": ["ann", "ann"]}, "approvers: must not be named twice"),
        ({"observers": ["ann"]}, "observers: must not be named twice"),
        ({"observers": [f"p{i}" for i in range(20)]}, "approvers: must have at most 20 names"),
    ],
)
def test_wrong_names_are_refused_in_one_line(begin, how, line):
    with pytest.raises(InvalidInput) as caught:
        begin(**how)
    assert str(caught.value).startswith(line)

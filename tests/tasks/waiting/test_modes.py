"""People in each mode: the others continue where possible, and answers count as messages."""

from __future__ import annotations

from live import result_of

ITEMS = {"items": [{"text": "write it"}, {"text": "read it", "role": "ben"}]}


def said(job):
    return [(message.speaker, message.content) for message in job.messages()]


def test_broadcast_continues_while_a_person_answers(installation):
    job = installation.submit("broadcast", {"ann": "noop", "cyd": "noop"}, people=["ben"])
    installation.work()
    assert sorted(said(job)) == [("ann", "ok"), ("cyd", "ok")]
    assert job.state().rounds == 0
    job.reply("ben", "I agree")
    installation.work()
    assert said(job)[-1] == ("ben", "I agree")
    assert result_of(job).rounds == 1


def test_quorum_does_not_wait_for_a_person(installation):
    job = installation.submit(
        "broadcast", {"ann": "noop", "cyd": "noop"}, people=["ben"], options={"quorum": 2}
    )
    installation.work()
    assert result_of(job).turns == 2
    assert job.pending() == ()
    assert installation.client.inbox() == []


def test_stop_condition_does_not_wait_for_a_person(installation):
    job = installation.submit(
        "broadcast",
        {"ann": "noop", "cyd": "noop"},
        people=["ben"],
        stop={"text": "ok"},
        options={"quorum": 3},
    )
    installation.work()
    assert result_of(job).collab.status == "completed"


def test_person_in_a_swarm_takes_and_adds_items(installation):
    job = installation.submit("swarm", {"ann": "noop"}, people=["ben"], options=ITEMS)
    installation.work()
    (question,) = job.pending()
    assert question.question.text == "read it"
    assert said(job) == [("ann", "ok")]
    job.reply("ben", "There is a mistake.\nITEM ann: mend it")
    installation.work()
    assert said(job)[-1] == ("ann", "ok")
    assert result_of(job).reason == "board_empty"


def test_two_people_answer_in_any_order(installation):
    job = installation.submit("broadcast", {}, people=["ben", "cyd"])
    installation.work()
    assert [question.asked for question in job.pending()] == [("ben",), ("cyd",)]
    job.reply("cyd", "second, first")
    job.reply("ben", "first, second")
    installation.work()
    assert said(job) == [("cyd", "second, first"), ("ben", "first, second")]
    assert result_of(job).turns == 2


def test_failure_policy_may_substitute_a_person(make_installation):
    installation = make_installation('[agents.broken]\nkind = "scripted"\nreplies = [{ fail = "no" }]\n')
    policy = {"attempts": 1, "then": "substitute", "substitute": "human"}
    job = installation.submit("round_robin", {"ann": "broken"}, policy=policy, stop={"max_turns": 1})
    installation.work()
    (question,) = job.pending()
    assert (question.participant, question.asked) == ("ann", ("human",))
    job.reply("human", "I stand in")
    installation.work()
    assert said(job) == [("ann", "I stand in")]

"""A person's turn waits for the person: no worker, no lock, and one reply ends it."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from live import result_of, until
from scaling import patient
from stub_agents import callables
from symposia.models.errors import InvalidInput, MessageTooLarge, ReplyRefused
from symposia.models.protocol.collab import CollabStatus
from symposia.models.text.ids import moment_from_ms
from symposia.models.turns.turn import Expects
from symposia.state.turns.parked import Inbox, ParkedTurnStore
from symposia.tasks.waiting.parked_turn import read_all_questions
from symposia.tasks.waiting.replies import end_wait


@pytest.fixture
def asked(installation):
    """A session in which Ann has spoken and Ben, a person, is asked."""
    job = installation.submit("pair", {"ann": "noop"}, people=["ben"])
    installation.work()
    return job


def notes(job, kind):
    return [event.data for event in job.collab().events if event.event_type == kind]


def test_parked_turn_has_no_lock_or_message(installation, asked):
    (record,) = asked.state().open_turns()
    assert (record.participant, record.status) == ("ben", "parked")
    assert not list(installation.client._installation.sessions.connections.redis.scan_iter("*:lock:*"))
    assert not installation.queue.waiting
    assert installation.sweep() == []


def test_parked_turn_is_checked_at_most_hourly(installation, asked):
    answer = installation.runtime.store.sweep(asked.id, grace_ms=0)
    assert answer.numbers == ()
    assert answer.due_ms - answer.state.now_ms == 3_600_000


def test_pending_names_person_question_and_deadline(asked):
    (question,) = asked.pending()
    assert (question.participant, question.asked, question.turn_number) == ("ben", ("ben",), 2)
    assert (question.is_own, question.expects) == (True, Expects.REVIEW)
    assert (question.until - question.asked_at).days == 7
    (event,) = notes(asked, "turn.parked")
    assert event["asked"] == ["ben"]
    assert question.reply_token not in str(asked.collab().to_wire())


@pytest.mark.parametrize("name", ["judge", "echo", "ruff", "ada", "editor"])
def test_no_machine_answers_for_a_person_by_name(make_installation, caplog, name):
    installation = make_installation(
        '[agents.ada]\nkind = "scripted"\nreplies = ["hi"]\n[agents.editor]\nkind = "human"\ndeadline_s = 60'
    )
    installation.client._installation.sessions.workers.announce(
        "w", installation.runtime.agents.registry.known()
    )
    job = installation.submit("round_robin", {}, people=[name])
    installation.work()
    (question,) = job.pending()
    is_own = (question.until - question.asked_at).seconds == 60
    assert (question.asked, is_own) == ((name,), name == "editor")
    assert "uses the built-in agent" not in caplog.text


def test_built_in_agent_of_the_name_is_reported(installation, caplog):
    installation.client._installation.sessions.workers.announce(
        "w", installation.runtime.agents.registry.known()
    )
    both = [{"participant_id": name} for name in ("noop", "echo")]
    installation.client.submit(
        {"title": "t", "purpose": "p", "mode": "round_robin", "participants": both}, agents={"echo": "echo"}
    )
    (warning,) = caplog.records
    assert "participant noop uses the built-in agent of this name" in warning.getMessage()


def test_reply_becomes_the_message_of_the_turn(installation, asked):
    asked.reply("ben", "once more, please")
    assert [m.content for m in asked.messages()] == ["ok", "once more, please"]
    installation.work()
    assert [m.speaker for m in asked.messages()] == ["ann", "ben", "ann"]
    asked.reply("ben", "APPROVED: reads well")
    installation.work()
    result = result_of(asked)
    assert (result.reason, result.turns) == ("approved", 4)
    assert asked.pending() == ()


def test_person_answers_as_the_user(installation, asked):
    asked.reply("ben", "hello")
    assert [m.role for m in asked.messages()] == ["agent", "user"]


def test_person_may_pass(installation):
    job = installation.submit("round_robin", {"ann": "noop"}, people=["ben"], stop={"max_turns": 3})
    installation.work()
    job.reply("ben", "PASS")
    installation.work()
    assert [m.speaker for m in job.messages()] == ["ann", "ann"]
    assert result_of(job).turns == 3


def test_person_may_orchestrate(installation):
    job = installation.submit("orchestrated", {"ann": "noop"}, people=["orchestrator"])
    installation.work()
    job.reply("orchestrator", "NEXT: ann\nINSTRUCTION: begin")
    installation.work()
    assert [m.speaker for m in job.messages()] == ["orchestrator", "ann"]
    job.reply("orchestrator", "DONE: that will do")
    installation.work()
    assert result_of(job).reason == "satisfied"


@pytest.mark.parametrize("text", ["", "  \n", None, 7])
def test_blank_reply_is_refused(asked, text):
    with pytest.raises(InvalidInput, match="text: must not be blank"):
        asked.reply("ben", text)
    assert len(asked.pending()) == 1


def test_invalid_or_too_long_reply_is_refused(asked):
    with pytest.raises(MessageTooLarge):
        asked.reply("ben", "x" * 1_048_577)
    with pytest.raises(InvalidInput, match="UTF-8"):
        asked.reply("ben", "\udcff")
    assert len(asked.pending()) == 1


def test_a_second_reply_is_refused_and_changes_nothing(installation, asked):
    (question,) = asked.pending()
    asked.reply("ben", "first")
    for again in ({}, {"token": question.reply_token}, {"turn": question.turn_number}):
        with pytest.raises(ReplyRefused):
            asked.reply("ben", "second", **again)
    installation.work()
    assert "second" not in [m.content for m in asked.messages()]


def test_two_simultaneous_replies_are_one(installation, asked):
    one, two = (read_all_questions(asked._facts, asked.state())[0] for _ in range(2))
    assert end_wait(asked._connections, one, one.build_answer("mine", by="ben"), "answered").word == "replied"
    assert (
        end_wait(asked._connections, two, two.build_answer("no, mine", by="ben"), "answered").word == "double"
    )
    assert [m.content for m in asked.messages()] == ["ok", "mine"]


def test_reply_with_a_lost_answer_may_be_sent_again(installation, asked):
    (question,) = read_all_questions(asked._facts, asked.state())
    reply = question.build_answer("hello", by="ben")
    turns = ParkedTurnStore(installation.client._installation.sessions.connections.redis)
    assert [turns.reply(asked.id, reply).word for _ in range(3)] == ["replied"] * 3
    assert [m.content for m in asked.messages()] == ["ok", "hello"]


def test_a_foreign_reply_is_refused(installation, asked):
    with pytest.raises(ReplyRefused) as refused:
        asked.reply("ben", "hello", token="another")
    assert refused.value.word == "foreign"
    for name in ("ann", "nobody"):
        with pytest.raises(ReplyRefused) as refused:
            asked.reply(name, "hello")
        assert refused.value.word == "unasked"
    assert len(asked.pending()) == 1


def test_reply_needs_only_the_token(asked):
    (question,) = asked.pending()
    asked.reply("ben", "hello", token=question.reply_token)
    assert asked.pending() == ()


def test_reply_during_a_pause_is_written_on_resume(installation, asked):
    asked.suspend()
    asked.reply("ben", "hello")
    assert [m.content for m in asked.messages()] == ["ok"]
    with pytest.raises(ReplyRefused):
        asked.reply("ben", "again")
    asked.resume()
    assert [m.content for m in asked.messages()] == ["ok", "hello"]
    installation.work()
    assert asked.state().closed == 3


def test_a_parked_turn_survives_a_pause(installation, asked):
    asked.suspend()
    asked.resume()
    assert set(installation.work()) == {"waiting", "advanced"}
    asked.reply("ben", "still here")
    assert [m.content for m in asked.messages()] == ["ok", "still here"]


def test_stop_ends_a_waiting_session_at_once(installation, asked):
    asked.stop()
    installation.work()
    result = result_of(asked)
    assert (result.reason, result.collab.status) == ("stop_requested", CollabStatus.COMPLETED)
    with pytest.raises(ReplyRefused) as refused:
        asked.reply("ben", "too late")
    assert refused.value.word == "ended"


def test_stop_before_parking_ends_the_session(installation):
    job = installation.submit("pair", {"ann": "noop"}, people=["ben"])
    while not job.state().records or job.state().open_turns()[0].participant != "ben":
        installation.deliver()
    job.stop()
    installation.work()
    assert result_of(job).reason == "stop_requested"


def test_sweep_finds_a_stop_without_a_message(installation, asked):
    asked.stop()
    installation.queue.waiting.clear()
    installation.sweep_until(asked, lambda: asked.state().is_final)
    assert result_of(asked).reason == "stop_requested"


def test_cancel_ends_a_waiting_session_at_once(installation, asked):
    asked.cancel()
    assert asked.status() is CollabStatus.CANCELLED
    assert asked.pending() == ()


def test_sweep_finds_a_reply_of_a_dead_sender(installation, asked):
    asked.reply("ben", "hello")
    installation.queue.waiting.clear()
    due_ms = installation.client._installation.sessions.connections.redis.zscore("symposia:due", asked.id)
    assert due_ms <= installation.runtime.index.now_ms() + 5_000
    installation.sweep_until(asked, lambda: asked.state().closed == 3)


def test_inbox_lists_open_questions_oldest_first(installation):
    jobs = [installation.submit("pair", {"ann": "noop"}, people=[name]) for name in ("ben", "cyd", "ben")]
    installation.work()
    inbox = installation.client.inbox
    assert sorted(question.asked for question in inbox()) == [("ben",), ("ben",), ("cyd",)]
    asked_at = [question.asked_at for question in inbox()]
    assert asked_at == sorted(asked_at)
    assert {question.session_id for question in inbox("ben")} == {jobs[0].id, jobs[2].id}
    assert len(inbox(limit=2)) == 2
    jobs[0].reply("ben", "hello")
    jobs[2].cancel()
    assert [question.session_id for question in inbox()] == [jobs[1].id]
    assert len(list(Inbox(installation.client._installation.sessions.connections.redis).list_entries())) == 1


def test_pages_of_the_inbox_contain_each_question_once(installation, monkeypatch):
    monkeypatch.setattr("symposia.state.turns.parked._PAGE", 2)
    jobs = {installation.submit("pair", {"ann": "noop"}, people=["ben"]).id for _ in range(5)}
    installation.work()
    redis = installation.client._installation.sessions.connections.redis
    for same_time in (False, True):
        if same_time:  # more questions of one millisecond than one read returns
            redis.zadd("symposia:inbox", dict.fromkeys(redis.zrange("symposia:inbox", 0, -1), 5))
        page, found = installation.client.inbox_page(limit=2), []
        while True:
            found += [question.session_id for question in page.items]
            if page.cursor is None:
                break
            page = installation.client.inbox_page(limit=2, after=page.cursor)
        assert (len(found), set(found)) == (5, jobs)
    with pytest.raises(InvalidInput, match="cursor"):
        installation.client.inbox_page(after="none")


def test_inbox_is_ordered_by_time_of_the_question(make_installation):
    installation = make_installation(
        '[agents.slow]\nkind = "python"\ncallable = "stub_agents.callables:ask_ben_when_released"\n'
    )
    callables.release.clear()
    callables.running = threading.Semaphore(0)
    slow = installation.submit("pair", {"ann": "slow"}, people=["ben"])
    assert installation.deliver() == "advanced"
    with ThreadPoolExecutor(1) as pool:
        try:
            speaking = pool.submit(installation.deliver)
            assert callables.running.acquire(timeout=patient(20))
            quick = installation.submit("pair", {"ann": "noop"}, people=["ben"])
            installation.work()
            (question,) = quick.pending()
            # The index tells moments apart that are more than a millisecond from each other.
            until(lambda: moment_from_ms(installation.runtime.index.now_ms() - 2) > question.asked_at)
        finally:
            callables.release.set()
        assert speaking.result(patient(20)) == "parked"
    assert [question.session_id for question in installation.client.inbox()] == [quick.id, slow.id]
    assert [question.session_id for question in installation.client.inbox(limit=1)] == [quick.id]


def test_ambiguous_reply_lists_the_questions(installation):
    seat = {"agent": "noop", "parameters": {"replies": [{"say": "ASK ben: May I?"}, {"say": "done"}]}}
    job = installation.submit("broadcast", {"ann": seat, "cyd": seat}, people=["ben"])
    installation.work()
    first, second, own = job.pending()
    with pytest.raises(
        ReplyRefused, match=r"several open questions.*: turn 1: May I\?; turn 2: May I\?; turn 3: "
    ) as error:
        job.reply("ben", "yes")
    assert (error.value.word, list(error.value.questions)) == ("several", [1, 2, 3])
    assert len(job.pending()) == 3
    with pytest.raises(ReplyRefused) as foreign:
        job.reply("ben", "yes", token="another")
    assert foreign.value.word == "foreign"
    job.reply("ben", "yes", token=second.reply_token)
    job.reply("ben", "yes", turn=first.turn_number)
    assert [question.turn_number for question in job.pending()] == [own.turn_number]
    job.reply("ben", "me, too")
    job.cancel()

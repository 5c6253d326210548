"""`sweep`, and what still waits in the queue: at most one message of a turn, or of a step, however long the queue is."""

from __future__ import annotations

import json
from collections import deque

import pytest
from hypothesis import HealthCheck, given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from scaling import scaled_examples
from sessions.table import Table, turn, until
from symposia.models.sessions.plan import Step
from symposia.models.text.ids import new_id

#: A grace no test waits for, and what messages that were sent at the same time may change places by.
LONG, MARGIN = 60_000, 2_000
#: One that passes while a test polls.
SHORT = 20


def change(table, number, **fields):
    """Changes fields of a turn's record; each is given the value that it had."""
    key = table.key("turns")
    record = json.loads(table.client.hget(key, str(number)))
    record |= {name: made(record[name]) for name, made in fields.items()}
    table.client.hset(key, str(number), json.dumps(record))


def sent_ms(table, number):
    return json.loads(table.client.hget(table.key("turns"), str(number)))["dispatched_ms"]


def waited(table, *, ms):
    """A turn that was dispatched `ms` milliseconds ago."""
    number = table.plan_one()
    change(table, number, dispatched_ms=lambda before: before - ms)
    return number


def asked_before(table, *, ms):
    """Lets the session look as if its last change, and what was sent for it, were `ms` milliseconds ago; answers when."""
    at_ms = table.state().now_ms - ms
    table.client.hset(table.key("session"), "updated_ms", at_ms)
    return at_ms


def test_a_turn_in_the_queue_is_not_sent_again(table):
    number = waited(table, ms=50 * LONG)
    at_ms = sent_ms(table, number)
    for taken_ms in (0, at_ms - 1, at_ms, at_ms + MARGIN - 1):
        answer = table.sweep(grace_ms=LONG, taken_ms=taken_ms)
        assert (answer.numbers, answer.held) == ((), True), taken_ms - at_ms
    answer = table.sweep(grace_ms=LONG, taken_ms=at_ms + MARGIN)
    assert (answer.numbers, answer.held) == ((number,), False)


def test_resent_turn_waits_for_the_queue_again(table):
    number = waited(table, ms=LONG)
    first = table.sweep(grace_ms=LONG).state.now_ms
    change(table, number, dispatched_ms=lambda before: before - 2 * LONG)
    assert table.sweep(grace_ms=LONG, taken_ms=first - 2 * LONG).held
    assert table.sweep(grace_ms=LONG, taken_ms=first).numbers == (number,)


def test_queued_step_is_not_requested_again(table):
    at_ms = asked_before(table, ms=50 * LONG)
    answer = table.sweep(grace_ms=LONG, taken_ms=at_ms)
    assert (answer.advance, answer.held) == (False, True)
    assert table.sweep(grace_ms=LONG, taken_ms=at_ms + MARGIN).advance


def test_step_is_not_requested_while_a_turn_is_queued(table):
    one, two = table.plan(turn("ann", "a"), turn("bob", "b"))
    table.speak(one, scope="a")
    change(table, one, settled_ms=lambda before: before - 10 * LONG)
    at_ms = sent_ms(table, two)
    answer = table.sweep(grace_ms=LONG, taken_ms=at_ms)
    assert (answer.numbers, answer.advance) == ((), False)
    assert table.sweep(grace_ms=LONG, taken_ms=at_ms + MARGIN).advance


def test_queued_turn_counts_before_later_messages(table):
    one, two, three = table.plan(turn("ann", "a"), turn("bob", "b"), turn("cyd", "c"))
    table.speak(one, scope="a")
    change(table, one, settled_ms=lambda before: before - 10 * LONG)
    change(table, three, dispatched_ms=lambda before: before - 10 * LONG)
    answer = table.sweep(grace_ms=LONG, taken_ms=sent_ms(table, two))
    assert (answer.numbers, answer.advance) == ((three,), False)


def test_step_is_requested_while_a_retry_waits(table):
    one, two = table.plan(turn("ann", "a"), turn("bob", "b"))
    table.speak(one, scope="a")
    change(table, one, settled_ms=lambda before: before - 10 * LONG)
    table.fail(table.grant(two, scope="b"), delay_ms=10 * LONG)
    answer = table.sweep(grace_ms=LONG)
    assert (answer.numbers, answer.advance) == ((), True)


def test_a_retry_in_the_queue_is_not_sent_again(table):
    table.fail(table.grant(table.plan_one()), delay_ms=0)
    retried = table.sweep(grace_ms=LONG, taken_ms=0)
    assert retried.numbers == (1,)
    assert table.sweep(grace_ms=LONG).numbers == ()


def test_deadline_sends_nothing_while_a_turn_is_queued(table):
    """The worker that takes the message of the turn notices the deadline."""
    number = table.plan_one()
    table.client.hset(table.key("session"), "deadline_ms", 1)
    assert not table.sweep(grace_ms=LONG, taken_ms=sent_ms(table, number)).advance
    assert table.sweep(grace_ms=LONG, taken_ms=sent_ms(table, number) + MARGIN).advance


def test_deadline_is_checked_in_time_with_a_long_queue(table):
    at_ms = asked_before(table, ms=50 * LONG)
    deadline_ms = table.state().now_ms + 2 * LONG
    table.client.hset(table.key("session"), "deadline_ms", deadline_ms)
    answer = table.sweep(grace_ms=LONG, taken_ms=at_ms)
    assert answer.held
    assert answer.due_ms == deadline_ms


def test_queued_message_needs_no_check(table):
    waited(table, ms=10 * LONG)
    answer = table.sweep(grace_ms=LONG, taken_ms=0)
    assert answer.held
    assert answer.due_ms - answer.state.now_ms > 10 * LONG


@pytest.mark.parametrize("taken_ms", [0, 1])
def test_turn_without_a_message_is_sent_at_once(table, taken_ms):
    retried = table.fail(table.grant(table.plan_one()), delay_ms=1)
    answer = until(lambda: (a := table.sweep(grace_ms=LONG, taken_ms=taken_ms)).numbers and a)
    assert answer.state.now_ms >= retried.due_ms
    expired = table.expire_grant(answer.numbers[0])
    assert table.sweep(grace_ms=LONG, taken_ms=taken_ms).numbers == (expired.number,)
    assert table.sweep(grace_ms=LONG, taken_ms=taken_ms).numbers == (), "its message is in the queue now"


def test_a_probe_sends_one_message(table):
    numbers = table.plan(*(turn("ann", f"slot:{i}") for i in range(3)))
    for number in numbers:
        change(table, number, dispatched_ms=lambda before: before - LONG)
    answer = table.sweep(grace_ms=LONG, taken_ms=0, probes=1)
    assert (answer.numbers, answer.held) == (numbers[:1], True)
    assert table.sweep(grace_ms=LONG, taken_ms=0).numbers == ()


def test_unplanned_step_is_requested_with_backoff(table):
    for pause in (1, 1, 2, 4, 8, 16, 32, 64, 64):
        for field in ("updated_ms", "advanced_ms"):
            before = int(table.client.hget(table.key("session"), field) or 0)
            if before:
                table.client.hset(table.key("session"), field, before - LONG * pause + 5_000)
        assert not table.sweep(grace_ms=LONG).advance, f"before {pause} times the grace"
        for field in ("updated_ms", "advanced_ms"):
            before = int(table.client.hget(table.key("session"), field) or 0)
            if before:
                table.client.hset(table.key("session"), field, before - 5_000)
        assert table.sweep(grace_ms=LONG).advance, f"after {pause} times the grace"
    table.speak(table.plan_one())
    assert until(lambda: table.sweep(grace_ms=SHORT).advance), "counted from there again"


def test_new_step_is_requested_after_one_grace(table):
    now_ms = table.state().now_ms
    asked = {"updated_ms": now_ms - LONG, "advanced_ms": now_ms - LONG - 1, "advances": 9}
    table.client.hset(table.key("session"), mapping=asked)
    assert table.sweep(grace_ms=LONG).advance


class Post:
    """A queue between one session and one worker; `taken_ms` is the time that the worker reports."""

    def __init__(self, table: Table) -> None:
        self.table = table
        self.taken_ms = 0
        #: Turn's number, or 0 for a step, and when it was sent.
        self.queue: deque[tuple[int, int]] = deque([(0, table.state().now_ms)])
        self.is_lossless = True

    def sweep(self, probes: int = 0) -> None:
        answer = self.table.sweep(grace_ms=1, taken_ms=self.taken_ms, probes=probes)
        owed = [*answer.numbers, *([0] if answer.advance else [])]
        self.queue += [(number, answer.state.now_ms) for number in owed]
        if probes:
            self.is_lossless = False
        if self.is_lossless:
            waiting = [number for number, _ in self.queue]
            assert len(waiting) == len(set(waiting)), "one message of a turn, or of a step"
            assert 0 not in waiting or len(waiting) == 1, "a step is not asked for beside its turns"

    def lose(self) -> None:
        self.queue.clear()

    def take(self) -> None:
        """As a worker would: a turn is spoken, a step is planned."""
        if not self.queue:
            return
        number, sent_at_ms = self.queue.popleft()
        self.taken_ms = max(self.taken_ms, sent_at_ms)
        if number:
            answer = self.table.begin(number, scope=f"slot:{number % 2}")
            if answer.grant is not None:
                self.table.commit(answer.grant, "said")
            self.advance()
        else:
            self.advance()

    def advance(self) -> None:
        state = self.table.state()
        if state.open_turns():
            return
        turns = (
            turn("ann", f"slot:{state.next_number % 2}"),
            turn("bob", f"slot:{(state.next_number + 1) % 2}"),
        )
        answer = self.table.store.plan(self.table.id, self.table.write(Step(turns=turns), state=state))
        self.queue += [(number, answer.state.now_ms) for number in answer.numbers]


@hypothesis_settings(
    max_examples=scaled_examples(25), suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(st.lists(st.sampled_from(["sweep", "sweep", "sweep", "take", "lose"]), max_size=30))
def test_no_event_order_repeats_or_loses_a_message(client, events):
    table = Table(client)
    post = Post(table)
    for event in events:
        getattr(post, event)()
    # An idle worker: whatever was lost, the session goes on.
    before = table.state().closed

    def goes_on() -> bool:
        post.take()
        post.sweep(probes=0 if post.queue else 1)
        return table.state().closed >= before + 4

    until(goes_on)
    table.cancel(reason=new_id())

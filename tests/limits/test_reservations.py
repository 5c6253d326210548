"""The books of a session: what is spent and what is set aside never exceed the limit, in any order of events."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)
from redis import Redis

from checks import ledger
from scaling import scaled_examples
from servers.lossy import lossy_wire
from sessions.table import RETENTION_MS, Table, turn
from symposia.models.sessions.limits import ReservationRequest, UnitReservation
from symposia.models.turns.turn import Usage
from symposia.state.redis.connect import connect
from symposia.state.redis.keys import session_key
from symposia.state.sessions.records import Grant
from symposia.state.sessions.store import SessionStore
from symposia.state.turns.parked import ParkedTurnStore, Reply, ReplyRule

TOKENS, COST = 100, 1_000
SCOPES = tuple("abcdef")
known = st.none() | st.integers(0, 60)


def wanted(limit: int, most: int | None, *, must: bool, times: int = 1) -> UnitReservation:
    if most is None:
        return UnitReservation(limit=limit, most=None, least=1)
    return UnitReservation(limit=limit, most=most * times, least=most * times if must else min(1, most))


class Books(RuleBasedStateMachine):
    """Workers that spend no more than they were given, die, fail, ask people and are dropped."""

    client: Redis

    def __init__(self) -> None:
        super().__init__()
        self.table = Table(self.client)
        self.parked = ParkedTurnStore(self.client)
        #: Grants that are alive.
        self.live: dict[int, Grant] = {}
        self.asked: dict[int, str] = {}
        self.table.plan(*(turn("ann", scope) for scope in SCOPES))

    def _fields(self) -> tuple[int, int, int, int]:
        names = ("input_tokens", "output_tokens", "cost_micros", "reserved_tokens", "reserved_cost")
        values = self.client.hmget(session_key(self.table.id, "session"), names)
        into, out, cost, tokens_held, cost_held = (int(value or 0) for value in values)
        return into + out, cost, tokens_held, cost_held

    def _waiting(self) -> list[int]:
        return [turn.number for turn in self.table.state().open_turns() if turn.status == "planned"]

    # -- what workers do -------------------------------------------------------------------

    @precondition(lambda self: self._waiting())
    @rule(data=st.data(), most=known, must=st.booleans())
    def begin(self, data: st.DataObject, most: int | None, must: bool) -> None:
        self._begin(data.draw(st.sampled_from(self._waiting())), most, must=must)

    @precondition(lambda self: self.live)
    @rule(data=st.data(), most=known, must=st.booleans())
    def take_over_from_the_dead(self, data: st.DataObject, most: int | None, must: bool) -> None:
        number = data.draw(st.sampled_from(sorted(self.live)))
        self.table.expire(self.live.pop(number).scope)
        self._begin(number, most, must=must)

    def _begin(self, number: int, most: int | None, *, must: bool) -> None:
        record = self.table.state().records[number]
        others = [t for t in self.table.state().open_turns() if t.number != number]
        wish = ReservationRequest(
            tokens=wanted(TOKENS, most, must=must), cost=wanted(COST, most, must=must, times=10)
        )
        answer = self.table.begin(number, scope=record.scope, limit_request=wish)
        if answer.word == "granted":
            assert answer.grant is not None
            self.live[number] = answer.grant
            return
        may_come_back = any(t.reserved.tokens or t.reserved.cost for t in others)
        assert answer.word in ("short", "exhausted")
        assert answer.word == "exhausted" or may_come_back, "nobody waits for what cannot come back"

    def _own(self, number: int) -> int:
        """Tokens the grant may still spend; the cost is ten times that at most."""
        record = self.table.state().records[number]
        return min(record.reserved.tokens, record.reserved.cost // 10)

    def _spent(self, number: int, data: st.DataObject) -> Usage:
        tokens = data.draw(st.integers(0, self._own(number)))
        return Usage(output_tokens=tokens, cost_micros=10 * tokens)

    @precondition(lambda self: self.live)
    @rule(data=st.data())
    def commit(self, data: st.DataObject) -> None:
        number = data.draw(st.sampled_from(sorted(self.live)))
        usage = self._spent(number, data)
        assert self.table.commit(self.live.pop(number), "said", usage=usage).word in ("committed", "held")

    @precondition(lambda self: self.live)
    @rule(data=st.data())
    def fail(self, data: st.DataObject) -> None:
        number = data.draw(st.sampled_from(sorted(self.live)))
        usage = self._spent(number, data)
        grant = self.live.pop(number)
        answer = self.table.store.fail(self.table.id, grant, delay_ms=0, error="", spent={grant.token: usage})
        assert answer.word == "retried"

    # -- people ------------------------------------------------------------------------------

    @precondition(lambda self: self.live)
    @rule(data=st.data())
    def ask(self, data: st.DataObject) -> None:
        number = data.draw(st.sampled_from(sorted(self.live)))
        usage = self._spent(number, data)
        grant = self.live.pop(number)
        self.asked[number] = f"r{number}"
        answer = self.parked.park(
            self.table.id,
            grant,
            reply_token=self.asked[number],
            wait="{}",
            until_in_ms=None,
            wake_in_ms=60_000,
            spent={grant.token: usage},
        )
        assert answer.word == "parked"

    @precondition(lambda self: self.asked)
    @rule(data=st.data(), closes=st.booleans())
    def answer(self, data: st.DataObject, closes: bool) -> None:
        number = data.draw(st.sampled_from(sorted(self.asked)))
        token = self.asked.pop(number)
        speech = None
        if closes:
            speech = self.table.speech(Grant(number, "", "t", 1, 1, 0, 0, None, ()))
        reply = Reply(
            number, token, f"q{number}", ReplyRule.PERSON, speech=speech, wait="{}", outcome="asked"
        )
        assert self.parked.reply(self.table.id, reply).word in ("replied", "returned", "held")

    # -- planners and operators -----------------------------------------------------------------

    @rule(scopes=st.lists(st.sampled_from(SCOPES), max_size=2, unique=True), drops=st.integers(0, 1))
    def plan(self, scopes: list[str], drops: int) -> None:
        if self.table.state().status != "active":
            return
        dropped = tuple(record.number for record in self.table.state().open_turns())[:drops]
        taken = {t.scope for t in self.table.state().open_turns() if t.number not in dropped}
        self.table.plan(*(turn("ann", scope) for scope in scopes if scope not in taken), drop=dropped)
        for number in dropped:
            self.live.pop(number, None)
            self.asked.pop(number, None)

    @rule()
    def suspend_and_resume(self) -> None:
        self.table.suspend()
        for number in sorted(self.live)[:1]:
            assert self.table.commit(self.live.pop(number), "held").word == "held"
        self.table.resume()

    # -- what is always true -----------------------------------------------------------------------

    @invariant()
    def the_limit_holds(self) -> None:
        tokens, cost, tokens_held, cost_held = self._fields()
        assert tokens + tokens_held <= TOKENS
        assert cost + cost_held <= COST

    @invariant()
    def the_sum_is_that_of_the_turns(self) -> None:
        held = [record.reserved for record in self.table.state().open_turns()]
        assert self._fields()[2:] == (sum(it.tokens for it in held), sum(it.cost for it in held))

    def teardown(self) -> None:
        self.table.cancel(retention_ms=RETENTION_MS)
        assert self._fields()[2:] == (0, 0), "an ended session holds nothing"
        ledger.check_truths(self.client, self.table.id)
        self.client.flushdb()


def run(redis_url: str, *, examples: int, steps: int) -> None:
    with connect(redis_url) as client:
        run_state_machine_as_test(
            type("Books", (Books,), {"client": client}),
            settings=settings(
                max_examples=examples,
                stateful_step_count=steps,
                deadline=None,
                suppress_health_check=list(HealthCheck),
            ),
        )


def test_grant_with_a_lost_answer_reserves_once(redis_url):
    with lossy_wire(redis_url) as wire, connect(wire.url) as losing, connect(redis_url) as client:
        table = Table(client)
        (number,) = table.plan(turn())
        table.store = SessionStore(losing)
        wish = ReservationRequest(tokens=UnitReservation(limit=100, most=60, least=60))
        grant = table.grant(number, limit_request=wish)
        assert wire.lost
        assert table.state().records[number].reserved == (60, 0)
        assert table.commit(grant, "once", usage=Usage(output_tokens=50)).word == "done"
        assert client.hget(session_key(table.id, "session"), "reserved_tokens") == "0"
        table.cancel()


def test_delayed_turn_returns_at_its_time(redis_url):
    with connect(redis_url) as client:
        table = Table(client)
        (number,) = table.plan(turn())
        answer = table.store.defer(table.id, number, delay_ms=600_000)
        assert answer.word == "deferred"
        assert table.begin(number).word == "early"
        assert table.sweep().numbers == ()
        assert table.sweep().due_ms <= answer.due_ms
        table.cancel()
        assert table.store.defer(table.id, number, delay_ms=0).word == "done"


@pytest.mark.timeout(300)  # a failure is worth the time it takes to find its shortest form
def test_spending_stays_within_the_limit_in_any_order(redis_url):
    run(redis_url, examples=scaled_examples(60), steps=40)


@pytest.mark.soak
@pytest.mark.timeout(3_600)
def test_long_runs_stay_within_the_limit(redis_url):
    run(redis_url, examples=3_000, steps=80)

"""Anything that workers, planners and people may do in any order, against a model and a real server.

Workers hold on to what they were once granted, and planners to the plans they once made, so
that most of what they try is out of date. After every step the raw keys are audited.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    Bundle,
    RuleBasedStateMachine,
    consumes,
    initialize,
    invariant,
    multiple,
    precondition,
    rule,
    run_state_machine_as_test,
)
from redis import Redis

from checks import ledger
from protocol.model import Intent, Model
from scaling import scaled_examples
from sessions.table import Table, turn
from symposia.models.errors import IllegalTransition
from symposia.models.sessions.plan import Finish, Step
from symposia.models.text.ids import new_id
from symposia.models.turns.turn import Usage
from symposia.state.sessions.records import Grant, SessionState
from symposia.state.sessions.requests import PlanWrite

SCOPES = ("floor", "a", "b")
scopes = st.sampled_from(SCOPES)
#: Endings are worth little before something has happened.
EARLIEST_END = 15


@dataclass(frozen=True)
class Worker:
    """A worker with a grant, and the state of the session at that time."""

    grant: Grant
    state: SessionState
    #: Turns closed and not consumed when it began, and the version then.
    closed: tuple[int, ...]
    version: int

    @property
    def identity(self) -> tuple[int, str, str]:
        return self.grant.number, self.grant.scope, self.grant.token


class Protocol(RuleBasedStateMachine):
    client: Redis
    plans = Bundle("plans")
    workers = Bundle("workers")

    @initialize(is_draft=st.booleans())
    def open(self, is_draft: bool) -> None:
        self.table = Table(self.client, opened=False)
        self.table.open(draft=is_draft)
        self.model = Model(status="draft" if is_draft else "active")
        self.grants: list[Grant] = []
        #: Turn number and reply token of every wait there ever was, and the requests of all replies.
        self.asked: list[tuple[int, str]] = []
        self.requests: list[str] = []
        self.steps = 0
        self._plan(*self._made(["floor", "a", "b", "floor"]))

    def _moved(self, verb: object, may: bool) -> None:
        try:
            verb()  # type: ignore[operator]
        except IllegalTransition:
            assert not may
        else:
            assert may

    # -- planners ------------------------------------------------------------------------

    @rule(target=plans, places=st.lists(scopes, max_size=3), drops=st.integers(0, 2))
    def make_plan(self, places: list[str], drops: int) -> tuple[PlanWrite, Intent]:
        return self._made(places, drops)

    def _made(self, places: list[str], drops: int = 0) -> tuple[PlanWrite, Intent]:
        drop = self.model.open_numbers()[:drops]
        step = Step(turns=tuple(turn("ann", scope) for scope in places), drop=drop)
        consumed = self.model.closed_numbers()
        return self.table.write(step), Intent(self.model.version, tuple(places), drop, consumed)

    @precondition(lambda self: self.steps > EARLIEST_END)
    @rule(target=plans)
    def make_plan_to_finish(self) -> tuple[PlanWrite, Intent]:
        intent = Intent(self.model.version, consumed=self.model.closed_numbers(), finishes=True)
        return self.table.write(Finish(reason="satisfied")), intent

    @rule(made=plans)
    def plan(self, made: tuple[PlanWrite, Intent]) -> None:
        self._plan(*made)

    @rule(places=st.lists(scopes, min_size=1, max_size=3))
    def plan_at_once(self, places: list[str]) -> None:
        self._plan(*self._made(places))

    def _plan(self, write: PlanWrite, intent: Intent) -> None:
        first = self.model.next
        word = self.model.plan(intent)
        answer = self.table.store.plan(self.table.id, write)
        assert answer.word == word
        expected = tuple(range(first, self.model.next)) if word == "planned" else ()
        assert answer.numbers == expected, "turn numbers never repeat"

    # -- workers -------------------------------------------------------------------------

    @rule(target=workers, data=st.data())
    def begin_anything(self, data: st.DataObject) -> object:
        return self._begin(data.draw(st.integers(1, self.model.next)), data.draw(scopes), new_id())

    @precondition(lambda self: self.grants)
    @rule(target=workers, data=st.data())
    def begin_with_a_token_known_before(self, data: st.DataObject) -> object:
        grant = data.draw(st.sampled_from(self.grants))
        return self._begin(grant.number, grant.scope, grant.token)

    @precondition(lambda self: self.model.open_numbers())
    @rule(target=workers, data=st.data())
    def begin_what_is_open(self, data: st.DataObject) -> object:
        number = data.draw(st.sampled_from(self.model.open_numbers()))
        return self._begin(number, self.model.seats[number].scope, new_id())

    @rule(target=workers, worker=workers)
    def die_and_be_taken_over(self, worker: Worker) -> object:
        if self.model.holds(*worker.identity):
            self._expire(worker.grant.scope)
        return self._begin(worker.grant.number, worker.grant.scope, new_id())

    def _begin(self, number: int, scope: str, token: str) -> object:
        word, fence = self.model.begin(number, scope, token), self.model.fence
        answer = self.table.begin(number, scope=scope, token=token)
        assert answer.word == word
        if answer.grant is None or answer.state is None:
            return multiple()
        assert answer.grant.fence <= fence
        if token not in [grant.token for grant in self.grants]:
            assert answer.grant.fence == fence, "a new grant has the newest fencing number"
            assert all(grant.fence < fence for grant in self.grants)
            self.grants.append(answer.grant)
        return Worker(answer.grant, answer.state, self.model.closed_numbers(), self.model.version)

    @rule(worker=workers, texts=st.integers(0, 2), places=st.none() | st.lists(scopes, max_size=2))
    def commit(self, worker: Worker, texts: int, places: list[str] | None) -> None:
        self._commit(worker, texts, places)

    @rule(worker=consumes(workers), texts=st.integers(0, 2), places=st.none() | st.lists(scopes, max_size=2))
    def commit_and_forget(self, worker: Worker, texts: int, places: list[str] | None) -> None:
        self._commit(worker, texts, places)

    def _commit(self, worker: Worker, texts: int, places: list[str] | None) -> None:
        said = tuple(f"{worker.grant.number}:{worker.grant.token}:{i}" for i in range(texts))
        write, ahead = None, None
        if places is not None:
            step = Step(turns=tuple(turn("ann", scope) for scope in places))
            write = self.table.write(step, state=worker.state, after=worker.grant.number)
            ahead = Intent(worker.version, tuple(places), (), (*worker.closed, worker.grant.number))
        first = self.model.next
        word = self.model.commit(*worker.identity, said, ahead)
        answer = self.table.commit(worker.grant, *said, then=write, usage=Usage(output_tokens=texts + 1))
        assert answer.word == word
        assert answer.numbers == tuple(range(first, self.model.next))

    @rule(worker=workers, waits=st.integers(0, 3).map(lambda n: n == 0))
    def fail(self, worker: Worker, waits: bool) -> None:
        word = self.model.fail(*worker.identity, waits=waits)
        assert self.table.fail(worker.grant, delay_ms=3_600_000 if waits else 0).word == word

    @rule(worker=workers, token=st.none() | st.just("taken before"))
    def park(self, worker: Worker, token: str | None) -> None:
        reply = token or new_id()
        word = self.model.park(*worker.identity, reply)
        answer = self.table.park(worker.grant, reply)
        assert answer.word == word
        if word == "parked":
            self.asked.append((worker.grant.number, reply))

    @precondition(lambda self: self.asked)
    @rule(data=st.data(), texts=st.none() | st.integers(0, 2), again=st.booleans())
    def reply(self, data: st.DataObject, texts: int | None, again: bool) -> None:
        number, reply = data.draw(st.sampled_from(self.asked))
        request = data.draw(st.sampled_from(self.requests)) if again and self.requests else new_id()
        said = None if texts is None else tuple(f"{request}:{len(self.requests)}:{i}" for i in range(texts))
        word = self.model.reply(number, reply, request, said)
        assert self.table.reply(number, reply, request, said).word == word
        self.requests.append(request)

    @precondition(lambda self: self.model.locks)
    @rule(data=st.data())
    def a_lease_runs_out(self, data: st.DataObject) -> None:
        self._expire(data.draw(st.sampled_from(sorted(self.model.locks))))

    def _expire(self, scope: str) -> None:
        del self.model.locks[scope]
        self.table.expire(scope)

    # -- people and sweeps -----------------------------------------------------------------

    @precondition(lambda self: self.model.status == "draft" or self.steps % 8 == 0)
    @rule()
    def activate(self) -> None:
        self._moved(self.table.activate, self.model.activate())

    @rule()
    def suspend(self) -> None:
        self._moved(self.table.suspend, self.model.suspend())

    @precondition(lambda self: self.model.status != "active")
    @rule()
    def resume(self) -> None:
        self._moved(self.table.resume, self.model.resume())

    @precondition(lambda self: not self.model.stop)
    @rule()
    def stop(self) -> None:
        self._moved(lambda: self.table.store.request_stop(self.table.id), self.model.request_stop())

    @precondition(lambda self: self.steps > 2 * EARLIEST_END)
    @rule()
    def cancel(self) -> None:
        self._moved(self.table.cancel, self.model.cancel())

    @rule()
    def sweep(self) -> None:
        answer = self.table.sweep(grace_ms=0)
        assert answer.word == ("ended" if self.model.is_final else "swept")
        assert (set(answer.numbers), answer.advance) == self.model.owed()

    # -- what is always true -----------------------------------------------------------------

    @invariant()
    def the_server_agrees_with_the_model(self) -> None:
        self.steps += 1
        state, model = self.table.state(), self.model
        assert (state.status, state.version, state.next_number) == (model.status, model.version, model.next)
        assert (state.fence, state.closed, state.stop_requested) == (
            model.fence,
            len(model.written),
            model.stop,
        )
        assert {n: (r.status, r.scope) for n, r in state.records.items()} == {
            n: (s.status, s.scope) for n, s in model.seats.items()
        }
        assert {s: owner for s in SCOPES if (owner := self.table.owner(s))} == model.locks

    @invariant()
    def nobody_can_go_on_but_who_holds_the_scope(self) -> None:
        holders = [grant for grant in self.grants if self.table.renew(grant)]
        assert holders == [g for g in self.grants if self.model.holds(g.number, g.scope, g.token)]
        assert len({grant.scope for grant in holders}) == len(holders), "one writer a scope"

    @invariant()
    def nothing_is_lost_doubled_or_out_of_order(self) -> None:
        model = self.model
        read = ledger.check_truths(self.client, self.table.id)
        assert [message["content"] for message in read.messages] == model.dialog
        closed = [(p["token_id"], p["result"]["outcome"]) for p in read.payloads("MAPTurnCompleted")]
        assert sorted(closed) == sorted(model.closings)
        assert len(read.payloads("MAPConflictDetected")) == model.conflicts
        assert len(read.payloads("MAPConflictResolved")) == model.conflicts
        notes = Counter(event["event_type"] for event in read.journal)
        assert (notes["turn.dropped"], notes["turn.refused"]) == (model.laments, model.refusals)

    def teardown(self) -> None:
        if not self.model.is_final:
            self.table.cancel()
        ledger.check(self.client, self.table.id)
        self.client.flushdb()


def run(client: Redis, *, examples: int, steps: int) -> None:
    machine = type("Protocol", (Protocol,), {"client": client})
    run_state_machine_as_test(
        machine,
        settings=settings(
            max_examples=examples,
            stateful_step_count=steps,
            deadline=None,
            suppress_health_check=list(HealthCheck),
        ),
    )


@pytest.mark.timeout(300)  # a failure is worth the time it takes to find its shortest form
def test_no_order_of_events_breaks_the_protocol(client):
    run(client, examples=scaled_examples(70), steps=45)


@pytest.mark.soak
@pytest.mark.timeout(3_600)
def test_long_event_orders_keep_the_protocol(client):
    run(client, examples=5_000, steps=80)

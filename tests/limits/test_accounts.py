"""Usage of attempts is counted once: written or dropped, replaced or retried, in any order."""

from __future__ import annotations

from collections import defaultdict

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
from sessions.table import RETENTION_MS, Table, turn
from symposia.models.turns.turn import Usage
from symposia.state.redis.connect import connect
from symposia.state.sessions.records import Grant, ScriptAnswer
from symposia.state.sessions.requests import TurnOutput
from symposia.state.sessions.turn_records import sum_usage

more = st.integers(0, 9)


class Accounts(RuleBasedStateMachine):
    """Workers that spend, tell it, tell it again, are superseded, and find what the dead have left."""

    client: Redis

    def __init__(self) -> None:
        super().__init__()
        self.table = Table(self.client)
        #: Grants of any time, whose workers may still be alive.
        self.grants: list[Grant] = []
        #: By token: what was spent, and what was told of it.
        self.spent: defaultdict[str, Usage] = defaultdict(Usage)
        self.told: dict[str, Usage] = {}
        self.tenant = Usage()
        self.table.plan(turn("ann", "a"), turn("bob", "b"))

    def _tell(self, grant: Grant, found: list[Grant]) -> dict[str, Usage]:
        """Report the account of a worker and those of other attempts of its turn that it found."""
        return {it.token: self.spent[it.token] for it in (grant, *found) if it.number == grant.number}

    def _take(self, answer: ScriptAnswer, accounts: dict[str, Usage]) -> None:
        """Book the reported usage and report the new part to the tenant."""
        if answer.booked is None:
            return
        self.told |= accounts
        self.tenant += answer.booked

    @precondition(lambda self: self.table.state().open_turns())
    @rule(data=st.data(), dies=st.booleans())
    def begin(self, data: st.DataObject, dies: bool) -> None:
        record = data.draw(st.sampled_from(self.table.state().open_turns()))
        if dies and self.table.owner(record.scope) is not None:
            self.table.expire(record.scope)
        answer = self.table.begin(record.number, scope=record.scope)
        if answer.grant is not None:
            self.grants.append(answer.grant)

    @precondition(lambda self: self.grants)
    @rule(data=st.data(), tokens=more, requests=more)
    def spend(self, data: st.DataObject, tokens: int, requests: int) -> None:
        grant = data.draw(st.sampled_from(self.grants))
        self.spent[grant.token] += Usage(output_tokens=tokens, cost_micros=7 * tokens, requests=requests)

    @precondition(lambda self: self.grants)
    @rule(data=st.data(), how=st.sampled_from(("commit", "fail", "park", "spend")))
    def tell(self, data: st.DataObject, how: str) -> None:
        grant = data.draw(st.sampled_from(self.grants))
        accounts = self._tell(grant, data.draw(st.lists(st.sampled_from(self.grants), max_size=2)))
        self._take(self._told(how, grant, accounts), accounts)

    def _told(self, how: str, grant: Grant, accounts: dict[str, Usage]) -> ScriptAnswer:
        if how == "commit":
            speech = self.table.speech(grant, "said", usage=accounts[grant.token])
            others = {token: usage for token, usage in accounts.items() if token != grant.token}
            written = TurnOutput(
                speech.kind, speech.result, usage=speech.usage, others=others, messages=speech.messages
            )
            return self.table.store.commit(self.table.id, grant, written)
        if how == "fail":
            return self.table.store.fail(self.table.id, grant, delay_ms=0, error="no", spent=accounts)
        if how == "park":
            return self.table.park(grant, f"r{grant.fence}", spent=accounts)
        return self.table.store.book_usage(self.table.id, grant, accounts)

    @precondition(lambda self: [it for it in self.table.state().open_turns() if it.parking])
    @rule(closes=st.booleans())
    def answer(self, closes: bool) -> None:
        (record, *_) = [it for it in self.table.state().open_turns() if it.parking]
        request = f"q{record.fence}"
        answer = self.table.reply(
            record.number, record.parking.reply_token, request, ["yes"] if closes else None
        )
        assert answer.word in ("replied", "returned", "held")

    @rule(drops=st.booleans())
    def plan(self, drops: bool) -> None:
        state = self.table.state()
        if state.status != "active":
            return
        dropped = tuple(record.number for record in state.open_turns() if drops)
        taken = {record.scope for record in state.open_turns() if record.number not in dropped}
        self.table.plan(*(turn("ann", scope) for scope in "ab" if scope not in taken), drop=dropped)

    @rule(how=st.sampled_from(("suspend", "resume")))
    def pause(self, how: str) -> None:
        status = self.table.state().status
        if how == "suspend" and status == "active":
            self.table.suspend()
        if how == "resume" and status == "suspended":
            self.table.resume()

    @invariant()
    def each_account_is_booked_once(self) -> None:
        assert self.table.state().usage == sum_usage(self.told.values()) == self.tenant

    def teardown(self) -> None:
        self.table.cancel(retention_ms=RETENTION_MS)
        for grant in self.grants[-5:]:  # those who are told that it is over tell what they have spent
            accounts = self._tell(grant, [])
            self._take(self._told("commit", grant, accounts), accounts)
        self.each_account_is_booked_once()
        ledger.check_truths(self.client, self.table.id)
        self.client.flushdb()


def run(redis_url: str, *, examples: int, steps: int) -> None:
    with connect(redis_url) as client:
        run_state_machine_as_test(
            type("Accounts", (Accounts,), {"client": client}),
            settings=settings(
                max_examples=examples,
                stateful_step_count=steps,
                deadline=None,
                suppress_health_check=list(HealthCheck),
            ),
        )


@pytest.mark.timeout(300)  # a failure is worth the time it takes to find its shortest form
def test_no_event_order_counts_usage_twice_or_never(redis_url):
    run(redis_url, examples=scaled_examples(60), steps=40)


@pytest.mark.soak
@pytest.mark.timeout(3_600)
def test_usage_is_booked_once_in_any_order_of_events(redis_url):
    run(redis_url, examples=3_000, steps=80)

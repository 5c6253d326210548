"""Many workers at once, most of them unlucky: short leases, sudden deaths, late writers, pauses.

Unlike the protocol machine, which knows every answer, this shows what the server does under
real concurrency. Everything is accounted for from the raw keys.
"""

from __future__ import annotations

import random
from concurrent.futures import ThreadPoolExecutor

import pytest

from checks import ledger
from scaling import patient
from sessions.table import Table, turn, until
from symposia.models.errors import IllegalTransition
from symposia.models.sessions.plan import Finish, Step
from symposia.models.turns.turn import Usage
from symposia.state.redis.connect import connect
from symposia.state.sessions.records import ScriptAnswer, SessionState
from symposia.state.sessions.store import SessionStore

WORKERS = 6
SCOPES = ("floor", "slot:a", "slot:b")


class Worker:
    """Does to one session what a worker process does, badly."""

    def __init__(self, url: str, table: Table, *, seed: int, turns: int) -> None:
        self.client = connect(url)
        self.table = Table(self.client, opened=False)
        self.table.collab, self.table.id = table.collab, table.id
        self.store = SessionStore(self.client)
        self.random = random.Random(seed)
        self.turns = turns
        self.committed: list[str] = []

    def run(self) -> list[str]:
        """Work until the session has ended and return the texts of successful commits."""
        with self.client:
            while not (state := self.table.state()).is_final:
                owed = self.table.sweep(grace_ms=1)
                for number in owed.numbers:
                    self.speak(number)
                if owed.advance or self.random.random() < 0.2:
                    self.advance(state)
        return self.committed

    def advance(self, state: SessionState) -> None:
        if state.closed >= self.turns:
            self.store.plan(self.table.id, self.table.write(Finish(reason="enough"), state=state))
        elif len(state.open_turns()) < 3:
            self.store.plan(self.table.id, self.table.write(self.step(state), state=state))

    def step(self, state: SessionState) -> Step:
        scopes = self.random.choices(SCOPES, k=self.random.randint(1, 2))
        drop = tuple(t.number for t in state.open_turns()[:1]) if self.random.random() < 0.1 else ()
        return Step(turns=tuple(turn("ann", scope) for scope in scopes), drop=drop)

    def speak(self, number: int) -> None:
        record = self.table.state().records.get(number)
        if record is None:
            return
        answer = self.table.begin(number, scope=record.scope, lease_ms=self.random.choice([3, 10, 100]))
        if answer.grant is None or answer.state is None:
            return
        grant, fate = answer.grant, self.random.random()
        if fate < 0.15:
            return  # dies
        if fate < 0.3:
            self.table.fail(grant, delay_ms=self.random.randint(0, 3))
            return
        if fate < 0.5:
            # Freezes for longer than its lease, or its session.
            until(lambda: self.table.owner(record.scope) != grant.token)
        text = f"{number}:{grant.token}"
        ahead = None
        if len(answer.state.open_turns()) == 1 and answer.state.closed < self.turns:
            step = Step(turns=(turn("ann", record.scope),))
            ahead = self.table.write(step, state=answer.state, after=number)
        said: ScriptAnswer = self.table.commit(
            grant, text, then=ahead, usage=Usage(output_tokens=1, requests=2)
        )
        if said.word in ("committed", "held", "done"):
            self.committed.append(text)


def pause_now_and_then(url: str, table: Table) -> int:
    """Suspends and resumes until the session is over; answers how often."""
    times = 0
    with connect(url) as client:
        store = SessionStore(client)
        while not (state := store.state(table.id)).is_final:
            try:
                store.suspend(table.id)
                before = client.xlen(table.key("dialog"))
                for _ in range(20):
                    assert client.xlen(table.key("dialog")) == before, "nothing enters a paused dialog"
                store.resume(table.id)
                times += 1
            except IllegalTransition:
                pass
            until(
                lambda closed=state.closed: (
                    (now := store.state(table.id)).is_final or now.closed > closed + 2
                ),
                timeout_s=60,
            )
    return times


def storm(url: str, table: Table, *, turns: int, seed: int) -> None:
    crew = [Worker(url, table, seed=seed + i, turns=turns) for i in range(WORKERS)]
    with ThreadPoolExecutor(WORKERS + 1) as pool:
        pausing = pool.submit(pause_now_and_then, url, table)
        working = [pool.submit(worker.run) for worker in crew]
        claimed = [text for work in working for text in work.result(patient(600))]
        assert pausing.result(patient(10))
    written = table.texts()
    assert len(set(written)) == len(written) >= turns
    assert set(written) <= set(claimed), "everybody whose turn was written was told so"
    lost = set(claimed) - set(written)
    dropped = {event["data"]["token_id"] for event in table.journal("turn.dropped")}
    assert {text.partition(":")[2] for text in lost} <= dropped, (
        "only what was held, then dropped, is not there"
    )
    numbers = [int(text.partition(":")[0]) for text in written]
    assert len(set(numbers)) == len(numbers), "no turn is written twice"
    ledger.check(table.client, table.id)


def test_storm_of_failing_workers_loses_nothing(redis_url, table):
    storm(redis_url, table, turns=40, seed=random.randrange(10**6))


@pytest.mark.soak
def test_long_storm_loses_and_doubles_nothing(redis_url, client):
    for seed in range(100):
        table = Table(client)
        storm(redis_url, table, turns=300, seed=seed * WORKERS)

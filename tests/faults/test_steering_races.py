"""Suspend, resume, cancel and reply at the very moment of a commit, a thousand times."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from random import Random, sample
from threading import Barrier
from uuid import uuid4

import pytest

from chaos.audit.auditor import audit
from chaos.audit.evidence import Evidence
from chaos.script import Script
from scaling import patient
from sessions.table import RETENTION_MS, Table
from symposia.models.errors import IllegalTransition
from symposia.state.redis.connect import connect
from symposia.state.sessions.store import SessionStore
from symposia.state.turns.parked import FAR_MS, ParkedTurnStore, Reply, ReplyRule

pytestmark = [pytest.mark.xdist_group("faults-of-redis"), pytest.mark.timeout(180)]

RACES = 1_000
TURNS = 2


class Player:
    """One side of a race with its own connection."""

    def __init__(self, url: str) -> None:
        self.client = connect(url)
        self.store = SessionStore(self.client)
        self.parked = ParkedTurnStore(self.client)

    def commits(self, table: Table, grant) -> str:
        return self.store.commit(table.id, grant, table.speech(grant, "said")).word

    def suspends(self, table: Table, _grant) -> str:
        return self._moves(lambda: self.store.suspend(table.id))

    def resumes(self, table: Table, _grant) -> str:
        return self._moves(lambda: self.store.resume(table.id))

    def cancels(self, table: Table, _grant) -> str:
        return self._moves(lambda: self.store.cancel(table.id, reason="enough", retention_ms=RETENTION_MS))

    def replies(self, table: Table, grant) -> str:
        speech = table.speech(grant, "answered")
        reply = Reply(grant.number, "key", request=str(uuid4()), rule=ReplyRule.PERSON, speech=speech)
        return self.parked.reply(table.id, reply).word

    @staticmethod
    def _moves(move: Callable[[], object]) -> str:
        try:
            move()
        except IllegalTransition:
            return "refused"
        return "moved"


#: What runs against what: a commit or a reply, and something that steers, or the same once more.
PAIRS = [
    (Player.commits, Player.suspends),
    (Player.commits, Player.resumes),
    (Player.commits, Player.cancels),
    (Player.commits, Player.commits),
    (Player.replies, Player.replies),
    (Player.replies, Player.suspends),
    (Player.replies, Player.resumes),
    (Player.replies, Player.cancels),
]


#: What a commit or a reply may be told beside a suspend, by who was first.
WINS = {"committed", "held", "replied"}


def beside_suspends(seen: Counter) -> set[str]:
    """Answers to commits and replies so far."""
    return {told for (_, does, told, _) in seen if does == "suspends"}


def race(table: Table, pool: ThreadPoolExecutor, players: list[Player], pair) -> list[str]:
    """Run two calls on one turn at the same time and return their answers."""
    grant = table.grant(table.plan_one())
    if pair[0] is Player.replies:
        asked = {"reply_token": "key", "wait": "{}", "until_in_ms": None, "wake_in_ms": FAR_MS}
        assert players[0].parked.park(table.id, grant, **asked).word == "parked"
    if pair[1] is Player.resumes:
        table.suspend()
    start = Barrier(2)

    def run(player: Player, does) -> str:
        start.wait(patient(20))
        return does(player, table, grant)

    # By lot: who comes first waits for the other, and who comes last is more often first behind the barrier.
    told = {i: pool.submit(run, players[i], pair[i]) for i in sample((0, 1), 2)}
    return [told[i].result(patient(20)) for i in (0, 1)]


def settled(table: Table) -> None:
    """Resume a suspended session, or end an active one."""
    if table.state().status == "suspended":
        table.resume()
    if not table.state().is_final:
        table.finish("max_turns")


@pytest.mark.long
def test_racing_writers_write_at_most_once(redis_url):
    random, seen = Random(), Counter()
    players = [Player(redis_url), Player(redis_url)]
    with connect(redis_url) as client, ThreadPoolExecutor(2) as pool:
        while seen.total() < RACES or (beside_suspends(seen) != WINS and seen.total() < 5 * RACES):
            table = Table(client)
            for _ in range(TURNS):
                if table.state().status != "active":
                    break
                pair = random.choice(PAIRS)
                told = race(table, pool, players, pair)
                seen[pair[0].__name__, pair[1].__name__, *told] += 1
                if table.state().status == "suspended":
                    table.resume()
            settled(table)
            evidence = Evidence(client, table.id)
            script = Script(table.id, "round_robin", reason="max_turns")
            findings = audit(evidence, script, {}, lease_ms=0, cancelled=True)
            assert not findings, (seen, findings)
    for player in players:
        player.client.close()
    both = [told for (_, does, *told), _ in seen.items() if does in ("commits", "replies")]
    assert both
    assert all(sorted(told) in (["committed", "done"], ["double", "replied"]) for told in both)
    assert beside_suspends(seen) == WINS, "each side wins some of the races"

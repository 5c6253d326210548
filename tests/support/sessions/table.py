"""A session and the verbs on it, called the way workers call them, with nothing else around."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from redis import Redis

from scaling import patient
from symposia.models.protocol.collab import Collab, CollabMode, Participant
from symposia.models.protocol.dialog import Role, build_turn_message
from symposia.models.sessions.plan import Finish, PlannedTurn, Step
from symposia.models.text.ids import new_id, utcnow
from symposia.models.turns.turn import OutcomeKind, Usage
from symposia.state.redis.keys import lock_key, session_key
from symposia.state.sessions.records import Grant, ScriptAnswer, SessionState
from symposia.state.sessions.requests import (
    Claim,
    Opening,
    PlanFrame,
    PlanWrite,
    SeenMessage,
    TurnOutput,
    build_plan_write,
)
from symposia.state.sessions.store import SessionStore
from symposia.state.turns.parked import FAR_MS, ParkedTurnStore, Reply, ReplyRule

T = TypeVar("T")
RETENTION_MS = 60_000
LEASE_MS = 30_000


def until(condition: Callable[[], T], *, timeout_s: float = 30.0) -> T:
    """Polls until the condition is true; gives back what it answered."""
    timeout_s = patient(timeout_s)
    deadline = time.monotonic() + timeout_s
    while not (answer := condition()):
        assert time.monotonic() < deadline, f"not within {timeout_s} s"
        time.sleep(0.002)
    return answer


def turn(participant: str = "ann", scope: str = "floor", **more: Any) -> PlannedTurn:
    return PlannedTurn(participant=participant, scope=scope, **more)


class Table:
    """One session of `names`, opened by default."""

    def __init__(
        self, client: Redis, *, names: tuple[str, ...] = ("ann", "bob", "cyd"), opened: bool = True
    ) -> None:
        self.client = client
        self.store = SessionStore(client)
        self.collab = Collab(
            title="A table",
            purpose="see who may speak",
            mode=CollabMode.ROUND_ROBIN,
            participants=[Participant(participant_id=name) for name in names],
        ).activated()
        self.id = self.collab.collab_id
        if opened:
            assert self.open().word == "opened"

    # -- verbs ---------------------------------------------------------------------------

    def opening(self, **changes: Any) -> Opening:
        return Opening(**{"collab": self.collab, "spec": "{}", "digest": "d", **changes})

    def open(self, **changes: Any) -> ScriptAnswer:
        return self.store.open(self.opening(**changes))

    def write(
        self,
        plan: Step | Finish,
        *,
        state: SessionState | None = None,
        after: int | None = None,
        rounds: int = 0,
        retention_ms: int = RETENTION_MS,
    ) -> PlanWrite:
        """What a worker would write for its plan; `after`: made for the time when that turn has closed."""
        state = state or self.state()
        closed = [record.number for record in state.unconsumed()]
        frame = PlanFrame(
            expected=state.version,
            roster={p.participant_id: p for p in self.collab.participants},
            stop="{}",
            rounds=rounds,
            consumed=tuple(closed if after is None else [*closed, after]),
            consumed_by={it: state.records[it].participant for it in closed},
            parent=new_id(),
            purpose=self.collab.purpose,
            retention_ms=retention_ms,
            scopes={r.number: r.scope for r in state.open_turns() if r.number != after},
        )
        return build_plan_write(plan, frame)

    def plan(self, *turns: PlannedTurn, **step: Any) -> tuple[int, ...]:
        """Plans turns from the session as it is now; answers their numbers."""
        answer = self.store.plan(self.id, self.write(Step(turns=turns, **step)))
        assert answer.word == "planned"
        return answer.numbers

    def plan_one(self, **more: Any) -> int:
        """Plans one turn; answers its number."""
        (number,) = self.plan(turn(**more))
        return number

    def finish(self, reason: str = "satisfied", **more: Any) -> ScriptAnswer:
        return self.store.plan(self.id, self.write(Finish(reason=reason), **more))

    def begin(
        self, number: int, *, scope: str = "floor", token: str | None = None, **more: Any
    ) -> ScriptAnswer:
        seen = more.pop("seen", None)
        claim = self.claim(number, scope=scope, token=token, **more)
        return self.store.begin(self.id, claim, seen=seen)

    def claim(self, number: int = 0, *, scope: str = "floor", token: str | None = None, **more: Any) -> Claim:
        """What a worker asks for; without a number, of the next turn with a commit."""
        request = {"lease_ms": LEASE_MS, "timeout_ms": 600_000, "window": 100, "task_id": new_id(), **more}
        return Claim(number=number, scope=scope, token=token or new_id(), **request)

    def grant(self, number: int, **more: Any) -> Grant:
        answer = self.begin(number, **more)
        assert answer.word == "granted"
        assert answer.grant is not None
        return answer.grant

    def commit(
        self,
        grant: Grant,
        *texts: str,
        then: PlanWrite | None = None,
        claim: Claim | None = None,
        seen: SeenMessage | None = None,
        **speech: Any,
    ) -> ScriptAnswer:
        output = self.speech(grant, *texts, **speech)
        return self.store.commit(self.id, grant, output, then=then, claim=claim, seen=seen)

    def speech(self, grant: Grant, *texts: str, usage: Usage | None = None, **more: Any) -> TurnOutput:
        kind = OutcomeKind.MESSAGE if texts else OutcomeKind.PASSED
        result = json.dumps({"number": grant.number, "participant": "ann", "kind": kind})
        messages = tuple(self._message(grant, text) for text in texts)
        return TurnOutput(
            **{"kind": kind, "result": result, "usage": usage or Usage(), "messages": messages, **more}
        )

    def _message(self, grant: Grant, text: str) -> str:
        names = [p.participant_id for p in self.collab.participants]
        return build_turn_message(
            Role.AGENT,
            text,
            timestamp=utcnow(),
            participant_id=names[0],
            turn_number=grant.number,
            token_id=grant.token,
            fence=grant.fence,
        ).to_json()

    def speak(self, number: int, *texts: str, scope: str = "floor", **speech: Any) -> ScriptAnswer:
        """Begins and commits a turn."""
        answer = self.commit(self.grant(number, scope=scope), *texts, **speech)
        assert answer.word == "committed"
        return answer

    def fail(
        self, grant: Grant, *, delay_ms: int = 0, error: str = "no answer", agent: str = ""
    ) -> ScriptAnswer:
        return self.store.fail(self.id, grant, delay_ms=delay_ms, error=error, agent=agent)

    def park(self, grant: Grant, reply: str, **more: Any) -> ScriptAnswer:
        times = {"until_in_ms": None, "wake_in_ms": FAR_MS}
        return ParkedTurnStore(self.client).park(
            self.id, grant, **{"reply_token": reply, "wait": "{}", **times, **more}
        )

    def reply(
        self, number: int, reply: str, request: str, texts: Sequence[str] | None, **more: Any
    ) -> ScriptAnswer:
        """Answers a parked turn; with `texts` None it is given back."""
        wish = {"rule": ReplyRule.PERSON, **more}
        if texts is None:
            wish = {"wait": "{}", "outcome": "asked", **wish}
        else:
            record = self.state().records.get(number)
            grant = Grant(number, "floor", (record and record.token) or request, 1, 1, 0, 0, None, ())
            wish = {"speech": self.speech(grant, *texts), **wish}
        return ParkedTurnStore(self.client).reply(self.id, Reply(number, reply, request, **wish))

    def renew(self, grant: Grant, *, lease_ms: int = LEASE_MS) -> bool:
        return self.store.renew(self.id, grant, lease_ms=lease_ms)

    def activate(self) -> SessionState:
        return self.store.activate(self.id)

    def suspend(self) -> SessionState:
        return self.store.suspend(self.id)

    def resume(self) -> SessionState:
        return self.store.resume(self.id)

    def cancel(self, **more: Any) -> SessionState:
        return self.store.cancel(self.id, **{"reason": "cancelled", "retention_ms": RETENTION_MS, **more})

    def sweep(self, *, grace_ms: int = 0, taken_ms: int | None = None, probes: int = 0) -> ScriptAnswer:
        return self.store.sweep(self.id, grace_ms=grace_ms, taken_ms=taken_ms, probes=probes)

    def expire(self, scope: str = "floor") -> None:
        """What the passing of a lease does."""
        assert self.client.delete(lock_key(self.id, scope)) == 1

    def expire_grant(self, number: int, *, scope: str = "floor") -> Grant:
        """A worker that takes a turn and dies."""
        grant = self.grant(number, scope=scope)
        self.expire(scope)
        return grant

    # -- looking -------------------------------------------------------------------------

    def state(self) -> SessionState:
        return self.store.state(self.id)

    def key(self, part: str) -> str:
        return session_key(self.id, part)

    def owner(self, scope: str = "floor") -> str | None:
        value = self.client.get(lock_key(self.id, scope))
        return value.partition("|")[0] if value else None

    def lease_ms(self, scope: str = "floor") -> int:
        return self.client.pttl(lock_key(self.id, scope))

    def _stream(self, part: str) -> list[dict[str, Any]]:
        return [json.loads(next(iter(fields.values()))) for _, fields in self.client.xrange(self.key(part))]

    def messages(self) -> list[dict[str, Any]]:
        return self._stream("dialog")

    def texts(self) -> list[str]:
        return [message["content"] for message in self.messages()]

    def events(self, kind: str | None = None) -> list[dict[str, Any]]:
        return [event for event in self._stream("events") if kind in (None, event["event_type"])]

    def payloads(self, kind: str) -> list[dict[str, Any]]:
        return [event["payload"] for event in self.events(kind)]

    def kinds(self) -> list[str]:
        return [event["event_type"] for event in self.events()]

    def outcomes(self) -> list[str]:
        """How grants were closed, in order."""
        return [payload["result"]["outcome"] for payload in self.payloads("MAPTurnCompleted")]

    def journal(self, kind: str | None = None) -> list[dict[str, Any]]:
        return [event for event in self._stream("journal") if kind in (None, event["event_type"])]

"""Live sessions in Redis: one method per script (verb), and readers that need no script.

Every method is idempotent, so a client may retry a command whose reply was lost. All times are by the
server's clock; clocks of workers are not used.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import cast

from redis import Redis

from ...models.errors import IllegalTransition, SessionConflict, SessionNotFound
from ...models.protocol.collab import Collab, CollabStatus
from ...models.text.ids import new_id
from ...models.text.json_text import dump_json
from ...models.turns.turn import MAX_SPENT
from ..redis.formats import check_format, session_format
from ..redis.keys import session_key
from ..redis.readers import read_stored
from ..redis.scripts import ScriptCall, ScriptValue, call_on_session, load_script, run_in_order
from .records import Grant, ScriptAnswer, SessionState, read_answer
from .requests import (
    Claim,
    JournalNote,
    Opening,
    PlanWrite,
    SeenMessage,
    TurnOutput,
    claim_args,
    format_notes,
    roles_document,
)
from .steering import SessionDocuments, check_session_format, read_documents
from .turn_records import Accounts, TurnRecord, format_accounts

#: Suffix of the board field with the item's message id.
PLACE = ":message"


def items_only(board: Mapping[str, str]) -> dict[str, str]:
    """Return the fields of a board that are work items."""
    return {name: entry for name, entry in board.items() if not name.endswith(PLACE)}


class SessionStore:
    """Sessions in one Redis (or Valkey, or cluster). The client must decode responses."""

    def __init__(self, client: Redis) -> None:
        self._client = client

    @property
    def client(self) -> Redis:
        """Return the client, for callers that store other data in the same Redis."""
        return self._client

    # -- the turn protocol ---------------------------------------------------------------

    def open(self, opening: Opening) -> ScriptAnswer:
        """Create the session, once; return `opened` or `exists`.

        Raises:
            SessionConflict: A session with this id and other content exists.
        """
        answer = self.open_all([opening])[0]
        if answer.word == "conflict":
            raise SessionConflict(opening.collab.collab_id)
        return answer

    def open_all(self, openings: Sequence[Opening]) -> list[ScriptAnswer]:
        """Create sessions in few round trips; return `opened`, `exists` or `conflict` for each."""
        answers = run_in_order(self._client, [opening_calls(openings)])[0]
        return [read_answer(one.collab.collab_id, raw) for one, raw in zip(openings, answers, strict=True)]

    def digests(self, session_ids: Sequence[str]) -> list[str | None]:
        """Return the digest of the submission of each session; None: there is no such session."""
        (digests,) = run_in_order(
            self._client,
            [[("HGET", session_key(session_id, "session"), "digest") for session_id in session_ids]],
        )
        return digests

    def plan(self, session_id: str, write: PlanWrite) -> ScriptAnswer:
        """Write the next step or the end; return `planned`, `outdated` or `inactive`."""
        args: dict[str, ScriptValue] = {"expected": write.expected, "plan": write.document}
        return self._run("sessions/plan", session_id, args, locks=write.released)

    def begin(self, session_id: str, claim: Claim, *, seen: SeenMessage | None = None) -> ScriptAnswer:
        """Request a grant for a turn; return `granted`, or the reason of the refusal.

        `seen`: the newest message that the worker has; it gets only those after it.

        Reasons: `done`, `overdue`, `waiting`, `woken`, `short`, `exhausted`, `busy`, `lost`, `early`,
        `inactive` or `unknown`.
        """
        args: dict[str, ScriptValue] = {
            **claim_args(claim, seen),
            "number": claim.number,
            "wish": claim.limit_request.model_dump_json(exclude_none=True) if claim.limit_request else "",
            "admitted": "1" if claim.admitted else "",
        }
        return self._run("turns/begin", session_id, args, lock=claim.scope, claim=claim)

    def renew(self, session_id: str, grant: Grant, *, lease_ms: int) -> bool:
        """Renew the lease; return False if it is lost or the turn is no longer needed."""
        args: dict[str, ScriptValue] = {"number": grant.number, "token": grant.token, "lease_ms": lease_ms}
        return self._run("turns/renew", session_id, args, lock=grant.scope).word == "renewed"

    def release_lost(self, session_id: str, record: TurnRecord, process: str) -> bool:
        """End the lease of a turn whose worker process was lost; return False if the turn has another holder now."""
        args: dict[str, ScriptValue] = {
            "number": record.number,
            "token": record.token or "",
            "process": process,
        }
        return self._run("turns/release_lost", session_id, args, lock=record.scope).word == "released"

    def commit(
        self,
        session_id: str,
        grant: Grant,
        output: TurnOutput,
        *,
        then: PlanWrite | None = None,
        claim: Claim | None = None,
        seen: SeenMessage | None = None,
    ) -> ScriptAnswer:
        """Write the output of a turn, together with the plan made for its outcome.

        Return `committed`, `held`, `done`, `stale`, `inactive` or `unknown`.

        Args:
            session_id: Id of the session.
            grant: The grant of the turn.
            output: Its output.
            then: The plan.
            claim: Request for the grant of the plan's only turn, whatever its `number`: then `committed` has the grant,
                unless another plan was first.
            seen: As in `begin`, for the claim.
        """
        args: dict[str, ScriptValue] = {
            "number": grant.number,
            "token": grant.token,
            "kind": output.kind.value,
            "result": output.result,
            "record": output.record,
            "error": output.error,
            "spent": format_accounts({**output.others, grant.token: output.usage}),
            "left_out": min(output.left_out, MAX_SPENT),
            "notes": format_notes(output.notes),
            "expected": then.expected if then else "",
            "plan": then.document if then else "",
            "claim": dump_json(claim_args(claim, seen)) if claim else "",
        }
        locks = (*(then.released if then else ()), *((claim.scope,) if claim else ()))
        return self._run(
            "turns/commit",
            session_id,
            args,
            lock=grant.scope,
            locks=locks,
            rest_args=output.messages,
            claim=claim,
        )

    def fail(
        self,
        session_id: str,
        grant: Grant,
        *,
        delay_ms: int,
        error: str,
        agent: str = "",
        spent: Accounts | None = None,
        notes: Sequence[JournalNote] = (),
    ) -> ScriptAnswer:
        """Return the turn for a retry or for another agent; return `retried`, `stale` or `done`.

        `spent`: usage of this attempt and of others that it has found; `notes`: entries for the journal.
        """
        args: dict[str, ScriptValue] = {
            "number": grant.number,
            "token": grant.token,
            "delay_ms": delay_ms,
            "agent": agent,
            "error": error,
            "spent": format_accounts(spent or {}),
            "notes": format_notes(notes),
        }
        return self._run("turns/fail", session_id, args, lock=grant.scope)

    def book_usage(self, session_id: str, grant: Grant, spent: Accounts) -> ScriptAnswer:
        """Book the usage of a lost grant; return `booked` or `missing`."""
        args: dict[str, ScriptValue] = {
            "number": grant.number,
            "token": grant.token,
            "spent": format_accounts(spent),
        }
        return self._run("turns/book_spending", session_id, args)

    def defer(self, session_id: str, number: int, *, delay_ms: int) -> ScriptAnswer:
        """Postpone a turn that has not begun; return `deferred` or `done`."""
        return self._run("turns/postpone", session_id, {"number": number, "delay_ms": delay_ms})

    def await_agent(
        self, session_id: str, record: TurnRecord, agent: str | None, *, delay_ms: int = 0
    ) -> ScriptAnswer:
        """Mark a turn as waiting for a worker that can run its agent; None: a worker can run it now.

        Return `deferred`, or `done` if another worker has it or it is over.
        """
        args: dict[str, ScriptValue] = {
            "number": record.number,
            "agent": agent or "",
            "delay_ms": delay_ms,
        }
        return self._run("turns/await_agent", session_id, args, lock=record.scope)

    # -- status of the session ---------------------------------------------------------------

    def activate(self, session_id: str, *, by: str = "", request: str | None = None) -> SessionState:
        """Start a session that is a draft. `by`: as in `suspend`. `request`: as in `resume`.

        Raises:
            IllegalTransition: The session has another status.
        """
        request = request or new_id()
        while True:
            documents = read_documents(self._client, session_id)
            text = documents.next_collab or documents.collab
            collab = read_stored(Collab, text, session_id=session_id, part="collab")
            args: dict[str, ScriptValue] = {
                "request": request,
                "by": by,
                "edition": documents.edition,
                "roles": roles_document(collab),
            }
            answer = self._run("sessions/activate", session_id, args)
            if answer.word != "outdated":
                return _moved(session_id, answer, CollabStatus.ACTIVE)

    def suspend(self, session_id: str, *, by: str = "", request: str | None = None) -> SessionState:
        """Suspend an active session. `by`: actor recorded in the event; empty: none. `request`: as in `resume`.

        Raises:
            IllegalTransition: The session has another status.
        """
        args: dict[str, ScriptValue] = {"request": request or new_id(), "by": by}
        return self._change_status("sessions/suspend", session_id, CollabStatus.SUSPENDED, args)

    def resume(self, session_id: str, *, by: str = "", request: str | None = None) -> SessionState:
        """Resume a suspended session, and write its held commits. `by`: as in `suspend`.

        `request`: name of this change, by which its repetition is recognised; None: a new one.

        Raises:
            IllegalTransition: The session has another status.
        """
        args: dict[str, ScriptValue] = {"request": request or new_id(), "by": by}
        return self._change_status("sessions/resume", session_id, CollabStatus.ACTIVE, args)

    def cancel(
        self, session_id: str, *, reason: str, detail: str = "", retention_ms: int, by: str = ""
    ) -> SessionState:
        """Cancel the session now. `by`: as in `suspend`.

        Raises:
            IllegalTransition: It has already ended.
        """
        scopes = [record.scope for record in self.state(session_id).open_turns()]
        args: dict[str, ScriptValue] = {
            "request": new_id(),
            "reason": reason,
            "detail": detail,
            "retention_ms": retention_ms,
            "by": by,
        }
        return self._change_status("sessions/cancel", session_id, CollabStatus.CANCELLED, args, locks=scopes)

    def request_stop(self, session_id: str, *, by: str = "") -> SessionState:
        """End the session after its running turns. `by`: as in `suspend`.

        Raises:
            IllegalTransition: It has already ended.
        """
        return self._change_status("sessions/stop", session_id, CollabStatus.COMPLETED, {"by": by})

    def sweep(
        self, session_id: str, *, grace_ms: int, taken_ms: int | None = None, probes: int = 0
    ) -> ScriptAnswer:
        """Return the due work of the session: `swept` (with numbers, advance, due_ms, held), `ended` or `missing`.

        Args:
            session_id: The session.
            grace_ms: Milliseconds after which a message counts as late.
            taken_ms: Sending time of the newest message that workers took, in milliseconds since the epoch;
                None: the queue is empty.
            probes: Number of messages that may be sent although the earlier ones may still be in the queue.
        """
        try:
            scopes = sorted({record.scope for record in self.state(session_id).open_turns()})
        except SessionNotFound:
            return ScriptAnswer("missing")
        args: dict[str, ScriptValue] = {
            "grace_ms": grace_ms,
            "taken_ms": "" if taken_ms is None else taken_ms,
            "probes": probes,
        }
        return self._run("sessions/sweep", session_id, args, locks=scopes, rest_args=scopes)

    # -- readers ---------------------------------------------------------------------------------

    def state(self, session_id: str) -> SessionState:
        """Return the current state of the session.

        Raises:
            SessionNotFound: There is no such session.
            NewerFormat: A newer version of Symposia wrote the session.
        """
        state = _known(session_id, self._run("sessions/view", session_id, {}))
        check_format("session", session_id, state.format)
        return state

    def documents(self, session_id: str) -> SessionDocuments:
        """Return the settings of the session, as JSON.

        Raises:
            SessionNotFound: There is no such session.
        """
        return read_documents(self._client, session_id)

    def start(self, session_id: str) -> str | None:
        """Return the hashes with which a fork began, as JSON; None: the session is not a fork."""
        return cast("str | None", self._client.hget(session_key(session_id, "session"), "start"))

    def board(self, session_id: str) -> dict[str, str]:
        """Return the work items of a swarm: item id -> `BoardEntry` as JSON.

        Raises:
            SessionNotFound: There is no such session.
        """
        entries = items_only(cast("dict[str, str]", self._client.hgetall(session_key(session_id, "board"))))
        if not entries and not self._client.exists(session_key(session_id, "session")):
            raise SessionNotFound(session_id)
        return entries

    def items(self, session_id: str, item_ids: Sequence[str]) -> list[tuple[str | None, str | None]]:
        """Return work items of a swarm: each as `BoardEntry` in JSON, and the place of its message in the dialog."""
        if not item_ids:
            return []
        fields = [field for item_id in item_ids for field in (item_id, item_id + PLACE)]
        values = cast("list[str | None]", self._client.hmget(session_key(session_id, "board"), fields))
        return list(zip(values[::2], values[1::2], strict=True))

    # -- scripts ---------------------------------------------------------------------------------

    def _change_status(
        self,
        verb: str,
        session_id: str,
        target: CollabStatus,
        args: Mapping[str, ScriptValue],
        *,
        locks: Iterable[str] = (),
    ) -> SessionState:
        check_session_format(self._client, session_id)
        return _moved(session_id, self._run(verb, session_id, args, locks=locks), target)

    def _run(
        self,
        verb: str,
        session_id: str,
        args: Mapping[str, ScriptValue],
        *,
        lock: str | None = None,
        locks: Iterable[str] = (),
        rest_args: Sequence[ScriptValue] = (),
        claim: Claim | None = None,
    ) -> ScriptAnswer:
        raw = call_on_session(self._client, verb, session_id, args, scope=lock, scopes=locks, rest=rest_args)
        return read_answer(session_id, raw, claim)


def opening_calls(openings: Sequence[Opening]) -> list[ScriptCall]:
    """Return the calls that create sessions; `read_answer` reads their answers."""
    script = load_script("sessions/open")
    return [
        ScriptCall(
            script,
            script.key_list(opening.collab.collab_id, None, ()),
            script.arg_list(_opening_args(opening), opening.messages),
        )
        for opening in openings
    ]


def _opening_args(opening: Opening) -> dict[str, ScriptValue]:
    return {
        "digest": opening.digest,
        "collab": opening.collab.to_json(),
        "spec": opening.spec,
        "roles": roles_document(opening.collab),
        "deadline_ms": int((opening.deadline_s or 0) * 1000),
        "archive": "owed" if opening.archived else "",
        "parent": opening.parent,
        "start": opening.start,
        "format": session_format(opening.spec),
        "draft": "1" if opening.draft else "",
    }


def _moved(session_id: str, answer: ScriptAnswer, target: CollabStatus) -> SessionState:
    state = _known(session_id, answer)
    if answer.word == "refused":
        raise IllegalTransition("collab", state.status, target)
    return state


def _known(session_id: str, answer: ScriptAnswer) -> SessionState:
    if answer.state is None:
        raise SessionNotFound(session_id)
    return answer.state

"""Steering of a running session: participants, their instructions, and messages from outside.

A roster change applies from the next round on, because the turns of this round were planned for the current
participants. In a swarm, which has no rounds, it applies from the next step on. New instructions of a
participant apply from their next turn.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from pydantic import JsonValue
from redis import Redis

from ...models.attachments import ATTACHMENTS, FULL, Attachment
from ...models.errors import InvalidInput, MessageTooLarge, SessionEnded, SessionNotFound
from ...models.modes import check_mode_options
from ...models.protocol.collab import Collab, Participant
from ...models.protocol.dialog import Message, Role
from ...models.sessions.spec import SessionSpec
from ...models.sessions.steering import (
    AnyBinding,
    AnyParticipant,
    SessionParticipants,
    binding_for,
    read_participant,
)
from ...models.text.ids import moment_from_ms, new_id
from ...state.presence import WorkerPresence
from ...state.redis.readers import read_stored, server_ms
from ...state.sessions.attachments import AttachmentStore
from ...state.sessions.index import SessionIndex
from ...state.sessions.records import ScriptAnswer, SessionState
from ...state.sessions.steering import SessionDocuments, SettingsChange, SteeringStore, read_documents

#: Maximum attempts of a change; an attempt fails only if a concurrent change succeeded.
MAX_ATTEMPTS = 50
#: Characters of an instruction that its event contains.
_MAX_EVENT_TEXT = 500

_ParticipantsChange = Callable[[SessionParticipants], SessionParticipants]


@dataclass(frozen=True, slots=True)
class SessionSteering:
    """Steering of one session by one actor."""

    client: Redis
    session_id: str
    #: Actor recorded with every change.
    by: str
    #: Maximum bytes of a text.
    limit_bytes: int
    #: Check of new participants; it raises if one cannot take part in this session.
    check_joining: Callable[[SessionSpec, Participant], None]
    #: Idempotency key: a repeated call makes the change once.
    request: str = field(default_factory=new_id)

    def add_participant(self, participant: AnyParticipant, agent: AnyBinding | None) -> None:
        """Add a participant from the next round on. Raises InvalidInput, SessionEnded, ConversationError."""
        who = read_participant(participant)
        binding = binding_for(who, agent, known_agents=WorkerPresence(self.client).known_agents())
        about: dict[str, JsonValue] = {"participant_id": who.participant_id, "agent": binding.agent}

        def made(participants: SessionParticipants) -> SessionParticipants:
            self.check_joining(participants.spec, who)
            return _check_participants(
                participants.with_participant(who, binding, limit_bytes=self.limit_bytes)
            )

        self._steer("participant.added", about, next_round=made)

    def remove_participant(self, name: str) -> None:
        """Remove a participant from the next round on.

        Raises:
            InvalidInput: A value breaks a rule.
            SessionEnded: The session has ended.
        """

        def made(participants: SessionParticipants) -> SessionParticipants:
            return _check_participants(participants.without_participant(name, limit_bytes=self.limit_bytes))

        self._steer("participant.removed", {"participant_id": name}, next_round=made)

    def instruct(self, name: str, text: str) -> None:
        """Change the instructions of a participant from the next turn on.

        Raises:
            InvalidInput: An unknown participant, or a text that breaks a rule.
            SessionEnded: The session has ended.
        """
        _check_text("text", text, self.limit_bytes)
        about: dict[str, JsonValue] = {"participant_id": name, "instructions": text[:_MAX_EVENT_TEXT]}

        def made(participants: SessionParticipants) -> SessionParticipants:
            return participants.with_instructions(name, text)

        self._steer("participant.instructed", about, now=made, next_round=made)

    def post(self, text: str, *, role: str, attachments: Sequence[Attachment] = ()) -> None:
        """Add a message as the user or the system; `attachments` have their data.

        Raises:
            InvalidInput: A value breaks a rule.
            SessionEnded: The session has ended.
        """
        if role not in (Role.USER, Role.SYSTEM):
            raise InvalidInput("role", role, "must be user or system")
        _check_text("text", text, self.limit_bytes)
        message = Message(role=Role(role), content=text, timestamp=moment_from_ms(server_ms(self.client)))
        if attachments:
            message = message.with_attachments(attachments)
            self._store(attachments)
        about: dict[str, JsonValue] = {"by": self.by, "role": role}
        answer = SteeringStore(self.client).post(
            self.session_id, message.to_json(), request=self.request, about=about
        )
        if answer.word == "full":
            raise InvalidInput(
                "text", text, "cannot be accepted now: too many messages wait for the dialog; try again later"
            )
        self._state(answer)

    def _store(self, attachments: Sequence[Attachment]) -> None:
        store = AttachmentStore(self.client)
        for attachment in attachments:
            if store.add(self.session_id, attachment) == "full":
                raise InvalidInput(ATTACHMENTS, attachment.name, FULL)

    def _steer(
        self,
        event: str,
        about: dict[str, JsonValue],
        *,
        next_round: _ParticipantsChange,
        now: _ParticipantsChange | None = None,
    ) -> None:
        """Apply the change to the newest edition; retry after concurrent changes."""
        for _ in range(MAX_ATTEMPTS):
            base = read_documents(self.client, self.session_id)
            if SteeringStore(self.client).has_steered(self.session_id, self.request):
                return  # an earlier call, whose answer was lost, made the change
            change = self._change(base, event, about, next_round=next_round, now=now)
            if self._state_of(change) is not None:
                return
        raise InvalidInput(
            "session",
            self.session_id,
            f"cannot be changed now: {MAX_ATTEMPTS} conflicts with concurrent changes in a row; try again",
        )

    def _change(
        self,
        base: SessionDocuments,
        event: str,
        about: dict[str, JsonValue],
        *,
        next_round: _ParticipantsChange,
        now: _ParticipantsChange | None,
    ) -> SettingsChange:
        current = self._cast(base.collab, base.spec)
        waiting = self._cast(base.next_collab, base.next_spec or "") if base.next_collab else None
        # A participant who joins in the next round may get instructions before.
        now_made = _apply_to_waiting(now, current, waiting) if now else current
        later = next_round(waiting or current) if waiting or now is None else None
        return SettingsChange(
            base=base,
            spec=_json(now_made.spec),
            next_collab=later.collab.to_json() if later else None,
            next_spec=_json(later.spec) if later else None,
            event=event,
            about={**about, "by": self.by},
            request=self.request,
        )

    def _cast(self, collab: str, spec: str) -> SessionParticipants:
        return SessionParticipants(
            read_stored(Collab, collab, session_id=self.session_id, part="collab"),
            read_stored(SessionSpec, spec, session_id=self.session_id, part="spec"),
        )

    def _state_of(self, change: SettingsChange) -> SessionState | None:
        """Return the steered session; None if a concurrent change won."""
        answer = SteeringStore(self.client).steer(self.session_id, change)
        return None if answer.word == "outdated" else self._state(answer)

    def _state(self, answer: ScriptAnswer) -> SessionState:
        if answer.state is None:
            raise SessionNotFound(self.session_id)
        if answer.word == "refused":
            raise SessionEnded(self.session_id, answer.state.status)
        SessionIndex(self.client).archive_soon(self.session_id)
        return answer.state


def _apply_to_waiting(
    now: _ParticipantsChange, current: SessionParticipants, waiting: SessionParticipants | None
) -> SessionParticipants:
    try:
        return now(current)
    except InvalidInput:
        if waiting is None:
            raise
        return current


def _json(spec: SessionSpec) -> str:
    return spec.model_dump_json(exclude_defaults=True)


def _check_participants(participants: SessionParticipants) -> SessionParticipants:
    check_mode_options(
        participants.collab.mode,
        participants.collab.participants,
        options=participants.spec.options,
        stop=participants.spec.stop,
    )
    return participants


def _check_text(where: str, text: object, limit_bytes: int) -> None:
    if not isinstance(text, str) or not text.strip():
        raise InvalidInput(where, text, "must not be blank")
    try:
        size = len(text.encode())
    except UnicodeEncodeError:
        raise InvalidInput(where, text, "must be valid UTF-8 text") from None
    if size > limit_bytes:
        raise MessageTooLarge(size, limit_bytes=limit_bytes, field=where)

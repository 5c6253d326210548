"""Attachments of a turn: reading those that it sees, and storing those of its messages before they are written."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

from pydantic import ValidationError

from ...models.attachments import FULL, Attachment, check_attachments, reading_with
from ...models.errors import AttachmentUnavailable, BadOutcome, InvalidInput, invalid_input
from ...models.turns.turn import DraftMessage, TurnOutcome
from ...state.sessions.attachments import AttachmentStore
from ..runtime.history import HistoryReader
from ..runtime.runtime import Runtime
from ..views.session_views import SessionFacts
from .active_turn import ActiveTurn, retry_during_outage, write_deadline


@dataclass(frozen=True, slots=True)
class TurnAttachments:
    """Reader of the attachments that a turn may see: those of its session and of the session's history."""

    history: HistoryReader
    facts: SessionFacts

    def read(self, name: str, sha256: str) -> bytes:
        """Return the bytes with a digest.

        Raises:
            AttachmentUnavailable: The session has no such attachment.
            ArchiveError: The archive does not answer.
            RedisUnavailable: Redis does not answer.
        """
        data = self.history.read_attachment(self.facts, sha256)
        if data is None:
            why = f"session {self.facts.session_id} and those that it continues do not have it"
            raise AttachmentUnavailable(name, why=why)
        return data


def store_attachments(runtime: Runtime, active_turn: ActiveTurn, outcome: TurnOutcome) -> TurnOutcome:
    """Store the attachments of an answer, and return the answer with references only.

    Nothing is stored before all of them are checked. What a worker that lost its turn has stored is unused.

    Raises:
        BadOutcome: An attachment breaks a rule.
        RedisUnavailable: Redis did not answer until the deadline of the turn.
    """
    if not any(draft.attachments for draft in outcome.messages):
        return outcome
    store = AttachmentStore(runtime.store.client)
    reader = TurnAttachments(runtime.history, active_turn.facts)
    session_id, until = active_turn.session_id, write_deadline(runtime, active_turn)
    for index, draft in enumerate(outcome.messages):
        _check(draft, f"messages[{index}]", runtime.limits.max_attachment_bytes)
    for attachment in dict.fromkeys(it for draft in outcome.messages for it in draft.attachments):
        data = _data_to_store(attachment, session_id, store, reader)
        if data is None:
            continue
        add = partial(store.add_data, session_id, attachment.sha256, data)
        if retry_during_outage(add, until=until, what=f"an attachment of {session_id}") == "full":
            raise BadOutcome(f"attachments: {FULL}")
    messages = tuple(
        draft.model_copy(update={"attachments": tuple(it.reference() for it in draft.attachments)})
        for draft in outcome.messages
    )
    return outcome.model_copy(update={"messages": messages})


def _data_to_store(
    attachment: Attachment, session_id: str, store: AttachmentStore, reader: TurnAttachments
) -> bytes | None:
    """Return the data of an attachment; None: the session has them. Raises BadOutcome for a made-up reference."""
    if attachment.data is None and (size := store.size(session_id, attachment.sha256)):
        if size != attachment.size:  # limits for prompts rely on it
            raise BadOutcome(f"attachments: {attachment.name} must have its size of {size} bytes")
        return None
    try:
        with reading_with(reader):
            return attachment.load()
    except AttachmentUnavailable as error:
        raise BadOutcome(f"attachments: {error}") from None


def _check(draft: DraftMessage, where: str, max_bytes: int) -> None:
    try:
        check_attachments(draft.attachments, max_bytes=max_bytes)
        for it in draft.attachments:  # an object may have been made without validation
            Attachment.model_validate(dict(it))
    except InvalidInput as error:
        raise BadOutcome(str(error.within(where))) from None
    except ValidationError as error:
        raise BadOutcome(str(invalid_input(error, f"{where}.attachments"))) from None

"""Transcript of a session in the dialogue format, from its ledger and its dialog."""

from __future__ import annotations

from ...models.alignment.ledger import Ledger
from ...models.alignment.transcript import render_transcript
from ...models.errors import InvalidInput
from ...models.protocol.collab import Collab
from ...models.protocol.dialog import Dialog
from ...models.sessions.stop_conditions import Converged
from ...state.redis.stored import converting_to_corrupt, read_object
from ...state.sessions.records import SessionState
from ..views.view import SessionFacts


def ledger_of(state: SessionState) -> Ledger:
    """Return the marks of a session so far; empty in a session without a protocol. Raises CorruptSession."""
    kept = read_object(state.stop, session_id=state.session_id, part="stop")
    with converting_to_corrupt(state.session_id, "stop"):
        return Ledger.model_validate(kept.get("ledger") or {})


def transcript_of(facts: SessionFacts, state: SessionState, collab: Collab, dialog: Dialog) -> str:
    """Return the session as Markdown, checked by parsing it back.

    Raises:
        InvalidInput: the session runs without the alignment protocol.
    """
    experts = next((it.experts for it in facts.spec.stop.leaves() if isinstance(it, Converged)), None)
    if facts.spec.protocol is None or experts is None:
        raise InvalidInput(
            "protocol", facts.spec.protocol, "must be `alignment`: other sessions have no transcript"
        )
    # Participants who joined later are experts, too, but the session does not wait for their convergence.
    joined = (it.participant_id for it in collab.participants)
    spoke = (it.speaker for it in dialog.messages if it.turn_number is not None and it.speaker is not None)
    judges = {facts.spec.orchestrator, facts.spec.options.aggregator}
    everyone = dict.fromkeys((*experts, *joined, *spoke))
    return render_transcript(
        collab, dialog.messages, ledger_of(state), [it for it in everyone if it not in judges]
    )

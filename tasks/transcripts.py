"""A session's transcript in the dialogue format, from its ledger and its dialog."""

from __future__ import annotations

from ..models.alignment.ledger import Ledger
from ..models.alignment.transcript import written
from ..models.collab import Collab
from ..models.dialog import Dialog
from ..models.errors import InvalidInput
from ..models.stop import Converged
from ..state.records import SessionState
from ..state.stored import read_object, told_as_corrupt
from .view import SessionFacts


def ledger_of(state: SessionState) -> Ledger:
    """What was marked in a session so far; empty in a session without a protocol. Raises CorruptSession."""
    kept = read_object(state.stop, session_id=state.session_id, part="stop")
    with told_as_corrupt(state.session_id, "stop"):
        return Ledger.model_validate(kept.get("ledger") or {})


def transcript_of(facts: SessionFacts, state: SessionState, collab: Collab, dialog: Dialog) -> str:
    """The session as Markdown, read back and found the same.

    Raises:
        InvalidInput: the session runs without the alignment protocol.
    """
    experts = next((it.experts for it in facts.spec.stop.leaves() if isinstance(it, Converged)), None)
    if facts.spec.protocol is None or experts is None:
        raise InvalidInput(
            "protocol", facts.spec.protocol, "must be alignment for a session to have a transcript"
        )
    # Participants who joined later are experts, too, although the session does not wait for them to converge.
    joined = (it.participant_id for it in collab.participants)
    spoke = (it.speaker for it in dialog.messages if it.turn_number is not None and it.speaker is not None)
    judges = {facts.spec.orchestrator, facts.spec.options.aggregator}
    everyone = dict.fromkeys((*experts, *joined, *spoke))
    return written(collab, dialog.messages, ledger_of(state), [it for it in everyone if it not in judges])

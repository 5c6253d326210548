"""The end of a session, for the sessions above and below it."""

from __future__ import annotations

from ....state.sessions.records import SessionState
from ...runtime.runtime import Boundary, Runtime
from ...views.session_views import SessionFacts
from .answers import answer_parent
from .tree import cancel_children


class ParentsAndChildren:
    """The tree of the runtime: see `SessionTree`.

    A session stays in the due index until this was done, so the sweep repeats it after the death of a worker.
    """

    def settle_end(self, runtime: Runtime, facts: SessionFacts, state: SessionState) -> None:
        """End the sub-sessions of a session that has ended, and answer its parent."""
        cancel_children(runtime, state, detail="the parent has ended")
        ref = facts.spec.parent
        if ref is not None:
            runtime.fault_hook(Boundary.BEFORE_ANSWER, ref.session_id, ref.turn)
            answer_parent(runtime, ref, state)

    def settle_dropped(self, runtime: Runtime, state: SessionState) -> None:
        """End the sub-sessions of dropped turns."""
        cancel_children(runtime, state, detail="its turn is no longer needed")

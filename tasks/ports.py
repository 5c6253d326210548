"""Protocols of the services that features provide to the engine."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from ..models.memory.recall import RecalledMemory
    from ..models.turns.turn import TurnOutcome, TurnResult
    from ..state.sessions.records import SessionState
    from .views.session_views import SessionFacts


class MemoryPort(Protocol):
    """Dialog memory for the turns of a worker."""

    def recall(self, facts: SessionFacts, *, now_ms: int) -> RecalledMemory | None:
        """Return the memory for a turn that was just granted; None in a session without memory."""
        ...

    def add_statements(
        self, recollection: RecalledMemory, result: TurnResult, outcome: TurnOutcome
    ) -> TurnResult:
        """Return the result with the statements of its turn that are to be remembered."""
        ...

    def remember(self, facts: SessionFacts, state: SessionState) -> None:
        """Store the statements of turns that closed since the last plan; a repeated call changes nothing."""
        ...

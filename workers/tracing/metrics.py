"""Metrics of attempts and sessions; pydantic-ai adds those of model requests."""

from __future__ import annotations

from opentelemetry.metrics import MeterProvider

from ...state.sessions.records import SessionState

#: Upper bounds of the buckets of durations, in seconds: from a scripted agent to the longest turn.
BUCKETS_S = (0.01, 0.03, 0.1, 0.3, 1, 3, 10, 30, 100, 300, 1_000, 3_600)


class SessionMetrics:
    """Instruments of one process. They cost little if the provider exports nothing."""

    def __init__(self, provider: MeterProvider) -> None:
        meter = provider.get_meter("symposia")
        self._turns = meter.create_histogram(
            "symposia.turn.duration",
            unit="s",
            description="Duration of the attempts of turns",
            explicit_bucket_boundaries_advisory=BUCKETS_S,
        )
        self._sessions = meter.create_counter(
            "symposia.sessions.ended", unit="{session}", description="Sessions that have ended"
        )

    def record_attempt(self, mode: str, outcome: str, seconds: float) -> None:
        """Record the end of an attempt."""
        self._turns.record(seconds, {"symposia.mode": mode, "symposia.outcome": outcome})

    def record_session(self, mode: str, state: SessionState) -> None:
        """Record the end of a session."""
        self._sessions.add(1, {"symposia.mode": mode, "symposia.status": state.status.value})

"""Start of the traces of a worker process, if the standard variables ask for them.

Without them this module imports no part of OpenTelemetry.
"""

from __future__ import annotations

import atexit
import logging
from importlib.metadata import entry_points
from importlib.util import find_spec
from typing import TYPE_CHECKING, NamedTuple

from celery.signals import worker_process_shutdown, worker_shutdown

from ...config.standard_variables import (
    METRIC_EXPORTERS,
    SPAN_EXPORTERS,
    TelemetrySettings,
    load_telemetry_settings,
)

if TYPE_CHECKING:
    from .session_tracing import SessionTracing

log = logging.getLogger(__name__)

_INSTALL = "pip install 'symposia[otel]'"
#: Commands that install an exporter, by its name; all others are in the extra `otel`, or unknown.
_INSTALL_EXPORTER = {"otlp_proto_grpc": "pip install opentelemetry-exporter-otlp-proto-grpc"}


class Problem(NamedTuple):
    """Why traces cannot be exported, and the command that mends it."""

    text: str
    command: str = _INSTALL


def find_problem(settings: TelemetrySettings) -> Problem | None:
    """Return why traces cannot be exported, without importing an exporter; None: nothing is missing."""
    if find_spec("opentelemetry") is None or find_spec("opentelemetry.sdk") is None:
        return Problem("OTEL_* variables are set, but OpenTelemetry is not installed")
    groups = {SPAN_EXPORTERS: settings.exporters, METRIC_EXPORTERS: settings.metric_exporters}
    for group, names in groups.items():
        installed = {entry_point.name for entry_point in entry_points(group=group)}
        missing = [name for name in names if name not in installed]
        if missing:
            text = f"the exporter {missing[0]!r} is not installed (installed: {', '.join(sorted(installed))})"
            return Problem(text, _INSTALL_EXPORTER.get(missing[0], _INSTALL))
    return None


def start_tracing() -> SessionTracing | None:
    """Return the tracing of this process; None: traces are not exported.

    A wrong configuration is logged, and sessions run without traces.
    """
    settings = load_telemetry_settings()
    if settings is None:
        return None
    if (problem := find_problem(settings)) is not None:
        log.error("sessions are not traced: %s; try: %s", problem.text, problem.command)
        return None
    from .provider import DerivedIds, build_meters, build_provider
    from .session_tracing import SessionTracing

    ids = DerivedIds()
    try:
        provider, meters = build_provider(settings, ids), build_meters(settings)
    except Exception:  # an exporter refuses its variables
        log.exception("sessions are not traced: starting an exporter failed")
        return None
    tracing = SessionTracing(provider, ids, meters, captures_content=settings.captures_content)

    def close(**_: object) -> None:
        tracing.close()

    worker_shutdown.connect(close, weak=False)
    # Processes of a prefork pool end without that signal, and without the exit handlers of Python.
    worker_process_shutdown.connect(close, weak=False)
    atexit.register(close)
    return tracing

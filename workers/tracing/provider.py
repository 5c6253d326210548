"""The OpenTelemetry SDK of a process: its exporters, its limits, and ids that are derived from the session.

The SDK exports spans in a thread of its own, and drops spans if its queue is full, so no turn waits for a
collector. It restarts this thread in forked children. pydantic-ai adds the metrics of model requests.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from importlib.metadata import entry_points, version
from typing import Any

from opentelemetry.metrics import MeterProvider, NoOpMeterProvider
from opentelemetry.sdk.metrics import MeterProvider as SdkMeterProvider
from opentelemetry.sdk.metrics.export import MetricExporter, MetricReader, PeriodicExportingMetricReader
from opentelemetry.sdk.resources import SERVICE_NAME, SERVICE_VERSION, Resource
from opentelemetry.sdk.trace import SpanLimits, TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor, SpanExporter
from opentelemetry.sdk.trace.id_generator import RandomIdGenerator

from ...config.standard_variables import METRIC_EXPORTERS, SPAN_EXPORTERS, TelemetrySettings
from .turn_spans import WithoutTools

#: Maximum characters of an attribute's text, unless a variable sets another limit.
MAX_ATTRIBUTE_CHARS = 4_096


class DerivedIds(RandomIdGenerator):
    """Generator of random ids, except for a span that is started within `use`."""

    def __init__(self) -> None:
        self._next: ContextVar[tuple[int, int] | None] = ContextVar("symposia_span_ids", default=None)

    @contextmanager
    def use(self, trace_id: str, span_id: str) -> Iterator[None]:
        """Give these ids (hexadecimal) to the span that is started in the block."""
        token = self._next.set((int(trace_id, 16), int(span_id, 16)))
        try:
            yield
        finally:
            self._next.reset(token)

    def generate_trace_id(self) -> int:
        """Return the id of a new trace."""
        derived = self._next.get()
        return super().generate_trace_id() if derived is None else derived[0]

    def generate_span_id(self) -> int:
        """Return the id of a new span."""
        derived = self._next.get()
        return super().generate_span_id() if derived is None else derived[1]

    def is_trace_id_random(self) -> bool:
        """Return False: ids of sessions may be chosen by their submitters."""
        return False


def build_provider(settings: TelemetrySettings, ids: DerivedIds) -> TracerProvider:
    """Return a provider that exports in the background. The exporters must be installed."""
    exporters: list[SpanExporter] = [_load(SPAN_EXPORTERS, name) for name in settings.exporters]
    provider = TracerProvider(
        id_generator=ids, resource=_resource(settings), span_limits=_span_limits(), shutdown_on_exit=False
    )
    for exporter in exporters:
        shown = exporter if settings.captures_content else WithoutTools(exporter)
        provider.add_span_processor(BatchSpanProcessor(shown))
    return provider


def build_meters(settings: TelemetrySettings) -> MeterProvider:
    """Return a provider of metrics that exports in the background, or nothing without exporters."""
    if not settings.metric_exporters:
        return NoOpMeterProvider()
    exporters: list[MetricExporter | MetricReader] = [
        _load(METRIC_EXPORTERS, name) for name in settings.metric_exporters
    ]
    readers = [
        exporter if isinstance(exporter, MetricReader) else PeriodicExportingMetricReader(exporter)
        for exporter in exporters
    ]
    return SdkMeterProvider(readers, resource=_resource(settings), shutdown_on_exit=False)


def _resource(settings: TelemetrySettings) -> Resource:
    attributes = {SERVICE_VERSION: version("symposia")}
    if not settings.has_service_name:
        attributes[SERVICE_NAME] = "symposia"
    return Resource.create(attributes)


def _span_limits() -> SpanLimits:
    configured = SpanLimits()
    if configured.max_span_attribute_length is not None or configured.max_attribute_length is not None:
        return configured
    return SpanLimits(max_attribute_length=MAX_ATTRIBUTE_CHARS)


def _load(group: str, name: str) -> Any:
    (entry_point,) = entry_points(group=group, name=name)
    return entry_point.load()()

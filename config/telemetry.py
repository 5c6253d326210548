"""The standard `OTEL_*` variables that decide whether traces are exported, and how.

The OpenTelemetry SDK reads all others itself: sampler, limits, headers, timeouts, resource attributes.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from urllib.parse import unquote

_ENDPOINTS = ("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "OTEL_EXPORTER_OTLP_ENDPOINT")
_PROTOCOLS = ("OTEL_EXPORTER_OTLP_TRACES_PROTOCOL", "OTEL_EXPORTER_OTLP_PROTOCOL")
_HEADERS = ("OTEL_EXPORTER_OTLP_TRACES_HEADERS", "OTEL_EXPORTER_OTLP_HEADERS")
#: Group of the entry points of exporters.
EXPORTERS = "opentelemetry_traces_exporter"
#: OTLP over HTTP unless the variables name gRPC.
_DEFAULT_PROTOCOL = "http/protobuf"

Getenv = Callable[[str], str | None]


@dataclass(frozen=True, slots=True)
class TraceSettings:
    """Settings of the export of traces."""

    #: Names of exporters: entry points of the group `EXPORTERS`.
    exporters: tuple[str, ...]
    #: Whether spans of model requests and tool calls contain the messages, arguments and results.
    captures_content: bool = False
    #: Whether the name of the service is configured; otherwise it is `symposia`.
    has_service_name: bool = False


def load_trace_settings(getenv: Getenv = os.environ.get) -> TraceSettings | None:
    """Return the settings of the export of traces; None: traces are not exported.

    Traces are exported if `OTEL_TRACES_EXPORTER` names an exporter, or an OTLP endpoint is set.
    """
    if _is_true(getenv("OTEL_SDK_DISABLED")):
        return None
    named = (getenv("OTEL_TRACES_EXPORTER") or "").strip()
    if not named and any(getenv(name) for name in _ENDPOINTS):
        named = "otlp"
    exporters = [name.strip() for name in named.split(",") if name.strip()]
    if not exporters or exporters == ["none"]:
        return None
    return TraceSettings(
        exporters=tuple(_entry_point(name, getenv) for name in exporters if name != "none"),
        captures_content=_is_true(getenv("OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT")),
        has_service_name=bool(getenv("OTEL_SERVICE_NAME"))
        or "service.name=" in (getenv("OTEL_RESOURCE_ATTRIBUTES") or ""),
    )


def _entry_point(name: str, getenv: Getenv) -> str:
    if name != "otlp":
        return name
    protocol = next((value for it in _PROTOCOLS if (value := getenv(it))), _DEFAULT_PROTOCOL)
    return "otlp_proto_grpc" if protocol.strip() == "grpc" else "otlp_proto_http"


def _is_true(value: str | None) -> bool:
    return (value or "").strip().lower() == "true"


def exporter_secrets(getenv: Getenv = os.environ.get) -> list[str]:
    """Return the values of the headers that are sent to the collector, which may be API keys."""
    headers = ",".join(filter(None, map(getenv, _HEADERS)))
    values = [value.strip() for header in headers.split(",") for value in [header.partition("=")[2]] if value]
    return [*values, *map(unquote, values)]

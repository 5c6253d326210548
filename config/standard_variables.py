"""Variables that other programs define: `OTEL_*` for the export of traces and metrics, and those of CI jobs.

The OpenTelemetry SDK reads all other `OTEL_*` variables itself: sampler, limits, headers, timeouts, resource attributes.

Source of the variables of CI jobs: https://docs.github.com/actions/reference/variables-reference,
https://docs.gitlab.com/ci/variables/predefined_variables.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import unquote

_HEADERS = tuple(f"OTEL_EXPORTER_OTLP_{signal}HEADERS" for signal in ("", "TRACES_", "METRICS_"))
#: Groups of the entry points of exporters.
SPAN_EXPORTERS, METRIC_EXPORTERS = "opentelemetry_traces_exporter", "opentelemetry_metrics_exporter"
#: OTLP over HTTP unless the variables name gRPC.
_DEFAULT_PROTOCOL = "http/protobuf"

#: Maximum bytes of the file with the event of a job.
_MAX_EVENT_BYTES = 4_194_304
_GITHUB_REF = re.compile(r"refs/pull/(\d{1,15})/(?:merge|head)")

Getenv = Callable[[str], str | None]


@dataclass(frozen=True, slots=True)
class TelemetrySettings:
    """Settings of the export of traces and metrics."""

    #: Names of the exporters of traces: entry points of the group `SPAN_EXPORTERS`.
    exporters: tuple[str, ...]
    #: Names of the exporters of metrics: entry points of the group `METRIC_EXPORTERS`.
    metric_exporters: tuple[str, ...] = ()
    #: Whether spans of model requests and tool calls contain the messages, arguments and results.
    captures_content: bool = False
    #: Whether the name of the service is configured; otherwise it is `symposia`.
    has_service_name: bool = False


def load_telemetry_settings(getenv: Getenv = os.environ.get) -> TelemetrySettings | None:
    """Return the settings of the export; None: nothing is exported.

    Traces are exported if `OTEL_TRACES_EXPORTER` names an exporter, or an OTLP endpoint is set. Metrics are
    exported besides traces if `OTEL_METRICS_EXPORTER` names an exporter, or an OTLP endpoint of metrics is set:
    many collectors accept traces only.
    """
    if _is_true(getenv("OTEL_SDK_DISABLED")):
        return None
    exporters = _exporters("TRACES", getenv, ("OTEL_EXPORTER_OTLP_ENDPOINT",))
    if not exporters:
        return None
    return TelemetrySettings(
        exporters=exporters,
        metric_exporters=_exporters("METRICS", getenv),
        captures_content=_is_true(getenv("OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT")),
        has_service_name=bool(getenv("OTEL_SERVICE_NAME"))
        or "service.name=" in (getenv("OTEL_RESOURCE_ATTRIBUTES") or ""),
    )


def _exporters(signal: str, getenv: Getenv, endpoints: tuple[str, ...] = ()) -> tuple[str, ...]:
    named = (getenv(f"OTEL_{signal}_EXPORTER") or "").strip()
    if not named and any(map(getenv, (f"OTEL_EXPORTER_OTLP_{signal}_ENDPOINT", *endpoints))):
        named = "otlp"
    names = [name.strip() for name in named.split(",")]
    return tuple(_entry_point(name, signal, getenv) for name in names if name not in ("", "none"))


def _entry_point(name: str, signal: str, getenv: Getenv) -> str:
    if name != "otlp":
        return name
    variables = (f"OTEL_EXPORTER_OTLP_{signal}_PROTOCOL", "OTEL_EXPORTER_OTLP_PROTOCOL")
    protocol = next((value for variable in variables if (value := getenv(variable))), _DEFAULT_PROTOCOL)
    return "otlp_proto_grpc" if protocol.strip() == "grpc" else "otlp_proto_http"


def _is_true(value: str | None) -> bool:
    return (value or "").strip().lower() == "true"


def exporter_secrets(getenv: Getenv = os.environ.get) -> list[str]:
    """Return the values of the headers that are sent to the collector, which may be API keys."""
    headers = ",".join(filter(None, map(getenv, _HEADERS)))
    values = [value.strip() for header in headers.split(",") for value in [header.partition("=")[2]] if value]
    return [*values, *map(unquote, values)]


def find_pull_request(getenv: Getenv = os.environ.get) -> int | None:
    """Return the number of the pull or merge request that this job is for; None: it is for none."""
    if match := _GITHUB_REF.fullmatch(getenv("GITHUB_REF") or ""):
        return int(match[1])
    number = getenv("CI_MERGE_REQUEST_IID") or ""
    return int(number) if number.isascii() and number.isdecimal() and len(number) <= 15 else None


def find_pull_request_text(getenv: Getenv = os.environ.get) -> tuple[str, str]:
    """Return title and description of the pull or merge request that this job is for; empty if they are not known."""
    title = getenv("CI_MERGE_REQUEST_TITLE") or ""
    if title:
        return title, getenv("CI_MERGE_REQUEST_DESCRIPTION") or ""
    try:
        with Path(getenv("GITHUB_EVENT_PATH") or "").open("rb") as file:
            event = json.loads(file.read(_MAX_EVENT_BYTES))
        pull = event["pull_request"]
        return str(pull["title"] or ""), str(pull["body"] or "")
    except (OSError, ValueError, LookupError, TypeError, RecursionError):
        return "", ""

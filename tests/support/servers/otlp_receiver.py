"""A collector: receives spans as OTLP over HTTP, and shows the traces as trees."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceRequest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import (
    ExportTraceServiceRequest,
    ExportTraceServiceResponse,
)
from opentelemetry.proto.trace.v1.trace_pb2 import Status

from live import until


@dataclass(frozen=True)
class SeenSpan:
    """A span as it was received."""

    name: str
    trace: str
    id: str
    parent: str
    start_ns: int
    end_ns: int
    error: str | None
    attributes: dict[str, object] = field(default_factory=dict)
    #: Linked spans: id, and cause.
    links: tuple[tuple[str, object], ...] = ()
    #: Events: name, and attributes.
    events: tuple[tuple[str, dict[str, object]], ...] = ()
    service: object = None


class OtlpReceiver:
    """The receiver; `status` is its answer to every request."""

    def __init__(self) -> None:
        self.received: list[SeenSpan] = []
        #: Names of the received metrics.
        self.metrics: set[str] = set()
        self.headers: list[dict[str, str]] = []
        #: Paths of the requests.
        self.paths: set[str] = set()
        self.status = 200
        #: Requests are answered while it is set.
        self.gate = threading.Event()
        self.gate.set()
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), _Handler)
        self._server.receiver = self  # type: ignore[attr-defined]

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_port}"

    def trace_of(self, session_id: str) -> list[SeenSpan]:
        """The spans of a session, by their start."""
        trace = session_id.replace("-", "")
        return sorted((it for it in self.received if it.trace == trace), key=lambda it: it.start_ns)

    def complete_trace(self, session_id: str, spans: int) -> list[SeenSpan]:
        """The spans of a session, once that number has arrived."""
        return until(
            lambda: len(found := self.trace_of(session_id)) >= spans and found,
            what=f"{spans} spans of the session",
        )

    def take(self, body: bytes) -> None:
        for part in ExportTraceServiceRequest.FromString(body).resource_spans:
            service = {it.key: it.value.string_value for it in part.resource.attributes}["service.name"]
            for scope in part.scope_spans:
                self.received += [_seen(it, service) for it in scope.spans]

    def take_metrics(self, body: bytes) -> None:
        for part in ExportMetricsServiceRequest.FromString(body).resource_metrics:
            self.metrics |= {it.name for scope in part.scope_metrics for it in scope.metrics}

    @contextmanager
    def serve(self) -> Iterator[OtlpReceiver]:
        thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.05})
        thread.start()
        try:
            yield self
        finally:
            self.gate.set()
            self._server.shutdown()
            self._server.server_close()
            thread.join()


def _seen(span, service) -> SeenSpan:
    return SeenSpan(
        name=span.name,
        trace=span.trace_id.hex(),
        id=span.span_id.hex(),
        parent=span.parent_span_id.hex(),
        start_ns=span.start_time_unix_nano,
        end_ns=span.end_time_unix_nano,
        error=span.status.message if span.status.code == Status.STATUS_CODE_ERROR else None,
        attributes=_values(span.attributes),
        links=tuple((it.span_id.hex(), _values(it.attributes).get("symposia.cause")) for it in span.links),
        events=tuple((it.name, _values(it.attributes)) for it in span.events),
        service=service,
    )


def _values(attributes) -> dict[str, object]:
    return {it.key: getattr(it.value, it.value.WhichOneof("value")) for it in attributes}


class _Handler(BaseHTTPRequestHandler):
    def do_POST(self) -> None:
        receiver: OtlpReceiver = self.server.receiver  # type: ignore[attr-defined]
        body = self.rfile.read(int(self.headers["Content-Length"]))
        receiver.headers.append(dict(self.headers))
        receiver.paths.add(self.path)
        receiver.gate.wait()
        if receiver.status == 200 and self.path.endswith("/v1/traces"):
            receiver.take(body)
        elif receiver.status == 200:
            receiver.take_metrics(body)
        answer = ExportTraceServiceResponse().SerializeToString()
        self.send_response(receiver.status)
        self.send_header("Content-Type", "application/x-protobuf")
        self.send_header("Content-Length", str(len(answer)))
        self.end_headers()
        self.wfile.write(answer)

    def log_message(self, *_: object) -> None:
        """Silent."""

"""Spans below a turn: they name its session and its agent, and are exported without the definitions of tools.

pydantic-ai starts these spans. It writes the definitions of all tools to each model request, also without contents, and
knows neither the session nor the name of the agent in the registry.

Attributes: https://github.com/open-telemetry/semantic-conventions-genai (`gen_ai.*`), and
https://opentelemetry.io/docs/specs/semconv/general/session (`session.id`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from opentelemetry.context import Context, attach, create_key, detach, get_value, set_value
from opentelemetry.sdk.trace import ReadableSpan
from opentelemetry.sdk.trace.export import SpanExporter, SpanExportResult
from opentelemetry.trace import Span, SpanKind, Tracer, TracerProvider
from opentelemetry.util.types import Attributes, AttributeValue

SESSION_ID, CONVERSATION_ID, AGENT_NAME = "session.id", "gen_ai.conversation.id", "gen_ai.agent.name"
OPERATION, WORKFLOW_NAME, ERROR_TYPE = "gen_ai.operation.name", "gen_ai.workflow.name", "error.type"
#: Operations of the spans of a session and of an agent's run.
INVOKE_WORKFLOW, INVOKE_AGENT = "invoke_workflow", "invoke_agent"
_TOOL_DEFINITIONS = "gen_ai.tool.definitions"
#: Attributes that pydantic-ai writes besides, for Logfire: the name of the agent, and the line of its run.
_LOGFIRE_NAME, _LOGFIRE_LINE = "agent_name", "logfire.msg"
_TURN = create_key("symposia-turn")


def session_attributes(session_id: str) -> dict[str, str]:
    """Return the attributes that every span of a session has."""
    return {SESSION_ID: session_id, CONVERSATION_ID: session_id}


@contextmanager
def enter_turn(session_id: str, agent: str) -> Iterator[None]:
    """Let spans that are started in the block name the session and the agent of a turn; see `TurnTracers`."""
    token = attach(set_value(_TURN, {**session_attributes(session_id), AGENT_NAME: agent}))
    try:
        yield
    finally:
        detach(token)


class TurnTracers(TracerProvider):
    """Provider of tracers for pydantic-ai; `provider`: that of the SDK."""

    def __init__(self, provider: TracerProvider) -> None:
        self._provider = provider

    def get_tracer(self, *args: Any, **options: Any) -> Tracer:
        """As in TracerProvider."""
        return _TurnTracer(self._provider.get_tracer(*args, **options))


class _TurnTracer(Tracer):
    def __init__(self, tracer: Tracer) -> None:
        self._tracer = tracer

    def start_span(  # type: ignore[override]  # the further arguments are passed on
        self,
        name: str,
        context: Context | None = None,
        kind: SpanKind = SpanKind.INTERNAL,
        attributes: Attributes = None,
        **options: Any,
    ) -> Span:
        """As in Tracer."""
        changed = _attributes_in_turn(context, attributes)
        return self._tracer.start_span(_name(name, changed), context, kind, changed, **options)

    def start_as_current_span(  # type: ignore[override]
        self,
        name: str,
        context: Context | None = None,
        kind: SpanKind = SpanKind.INTERNAL,
        attributes: Attributes = None,
        **options: Any,
    ) -> Any:
        """As in Tracer."""
        changed = _attributes_in_turn(context, attributes)
        return self._tracer.start_as_current_span(_name(name, changed), context, kind, changed, **options)


def _attributes_in_turn(context: Context | None, given: Attributes) -> dict[str, AttributeValue]:
    """Return the attributes of a span that is started in a context, with those of its turn."""
    turn = get_value(_TURN, context)
    changed = {**(given or {}), **(turn if isinstance(turn, Mapping) else {})}
    if _LOGFIRE_NAME in changed:
        changed[_LOGFIRE_NAME] = changed[AGENT_NAME]
        changed[_LOGFIRE_LINE] = f"{changed[AGENT_NAME]!s} run"
    return changed


def _name(name: str, attributes: Mapping[str, AttributeValue]) -> str:
    """Return the name of a span: that of an agent's run names the agent."""
    is_run = attributes.get(OPERATION) == INVOKE_AGENT
    return f"{INVOKE_AGENT} {attributes[AGENT_NAME]!s}" if is_run else name


class WithoutTools(SpanExporter):
    """Exporter that leaves the definitions of tools out; `exporter`: where the spans go."""

    def __init__(self, exporter: SpanExporter) -> None:
        self._exporter = exporter

    def export(self, spans: Sequence[ReadableSpan]) -> SpanExportResult:
        """As in SpanExporter."""
        return self._exporter.export([_without_tools(span) for span in spans])

    def shutdown(self) -> None:
        """As in SpanExporter."""
        self._exporter.shutdown()

    def force_flush(self, timeout_millis: int = 30_000) -> bool:
        """As in SpanExporter."""
        return self._exporter.force_flush(timeout_millis)


def _without_tools(span: ReadableSpan) -> ReadableSpan:
    if span.attributes is None or _TOOL_DEFINITIONS not in span.attributes:
        return span
    return ReadableSpan(
        name=span.name,
        context=span.context,
        parent=span.parent,
        resource=span.resource,
        attributes={name: value for name, value in span.attributes.items() if name != _TOOL_DEFINITIONS},
        events=span.events,
        links=span.links,
        kind=span.kind,
        status=span.status,
        start_time=span.start_time,
        end_time=span.end_time,
        instrumentation_scope=span.instrumentation_scope,
    )

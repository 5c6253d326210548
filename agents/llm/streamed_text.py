"""Text of a model while it is streamed: passed on without thoughts."""

from __future__ import annotations

from collections.abc import AsyncIterable

from pydantic_ai import RunContext
from pydantic_ai.agent import EventStreamHandler
from pydantic_ai.messages import AgentStreamEvent, PartDeltaEvent, PartStartEvent, TextPart, TextPartDelta

from ...models.text.redact import clean_text
from ...models.text.thinking import ThinkingFilter
from ...models.turns.streaming import OutputListener
from .tools import ToolContext


def stream_handler(listener: OutputListener) -> EventStreamHandler[ToolContext]:
    """Return a handler that passes the streamed text to the listener."""

    async def read(_: RunContext[ToolContext], events: AsyncIterable[AgentStreamEvent]) -> None:
        output = ThinkingFilter()
        async for event in events:
            match event:
                case PartStartEvent(part=TextPart(content=text)):
                    _pass_on(listener, output, text)
                case PartDeltaEvent(delta=TextPartDelta(content_delta=text)):
                    _pass_on(listener, output, text)
                case _:
                    pass
        _pass_on(listener, output, "", last=True)

    return read


def _pass_on(listener: OutputListener, output: ThinkingFilter, text: str, *, last: bool = False) -> None:
    """Pass the next text on without thoughts; what precedes a closing tag alone was a thought, too."""
    closed = len(output.closed)
    shown = output.feed(text, last=last)
    if len(output.closed) > closed:
        listener.restart_output()
        shown = output.after_closed(shown)
    shown = clean_text(shown)
    if shown:
        listener.add_output(shown)

"""Agents of other libraries: how each is asked, and how its answer is read.

The libraries are recognised by the modules of the object's class and of its base classes; none of them is imported.
"""

from __future__ import annotations

import dataclasses
from collections.abc import AsyncIterable, AsyncIterator, Awaitable, Callable, Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import Any, TypeAlias

from ...models.turns.streaming import TurnOutput
from ...models.turns.turn import Usage

#: Attributes with the runnable to which a LangChain runnable gives its input first, such as those of `with_retry`.
_FIRST = ("bound", "runnable", "first")


@dataclass(frozen=True, slots=True)
class ForeignAnswer:
    """The answer of an agent of another library."""

    #: Text, data, or None.
    output: object
    #: None: unknown.
    usage: Usage | None = None


#: Answers a prompt, and writes the answer to the output while the model generates it, if somebody follows.
AskFunction: TypeAlias = Callable[[str, TurnOutput], Awaitable[ForeignAnswer]]


def ask_function(given: Any) -> AskFunction | None:
    """Return the function that asks an agent of a known library; None: the library is unknown."""
    if _is_of(given, "pydantic_ai") and callable(getattr(given, "run", None)):
        return _pydantic_agent(given)
    if _is_of(given, "agents") and hasattr(given, "instructions"):
        return _openai_agent(given)
    if callable(getattr(given, "ainvoke", None)):
        return _runnable(given)
    return None


def _is_of(given: object, library: str) -> bool:
    return any(base.__module__.partition(".")[0] == library for base in type(given).__mro__)


def _pydantic_agent(given: Any) -> AskFunction:
    async def ask(prompt: str, output: TurnOutput) -> ForeignAnswer:
        result = await given.run(prompt, **_pydantic_handler(given, output))
        usage = result.usage
        spent = _usage(usage, cached=usage.cache_read_tokens, cost=usage.cost or 0)
        return ForeignAnswer(_to_data(result.output), spent)

    return ask


def _openai_agent(given: Any) -> AskFunction:
    async def ask(prompt: str, output: TurnOutput) -> ForeignAnswer:
        library = import_module("agents")
        if output.is_followed:
            # Otherwise, other servers than OpenAI's report no tokens while they stream.
            config = library.RunConfig(model_settings=library.ModelSettings(include_usage=True))
            result = library.Runner.run_streamed(given, prompt, run_config=config)
            async for event in result.stream_events():
                _write_openai(event, output)
        else:
            result = await library.Runner.run(given, prompt)
        usage = result.context_wrapper.usage
        spent = _usage(usage, cached=usage.input_tokens_details.cached_tokens or 0)
        return ForeignAnswer(_to_data(result.final_output), spent)

    return ask


def _runnable(given: Any) -> AskFunction:
    is_graph = _begins_with_graph(given)

    async def ask(prompt: str, output: TurnOutput) -> ForeignAnswer:
        asked = {"messages": [("user", prompt)]} if is_graph else prompt
        if output.is_followed and _is_of(given, "langchain_core"):
            answer = await given.ainvoke(asked, {"callbacks": [_langchain_handler(output)]})
        else:
            answer = await given.ainvoke(asked)
        if isinstance(answer, dict) and isinstance(messages := answer.get("messages"), list) and messages:
            return ForeignAnswer(_message_text(messages[-1]), _messages_usage(_newest(messages)))
        return ForeignAnswer(_message_text(answer), _messages_usage([answer]))

    return ask


def _pydantic_handler(given: Any, output: TurnOutput) -> dict[str, Any]:
    """Return the arguments with which an agent streams; none if there is no listener, or its model cannot stream."""
    models = import_module("pydantic_ai.models")
    method = getattr(type(given.model), "request_stream", None)
    can_stream = method is not models.Model.request_stream and getattr(given.model, "stream_function", True)
    if not (output.is_followed and can_stream):
        return {}
    own = given.event_stream_handler

    async def read(context: Any, events: AsyncIterable[Any]) -> None:
        output.restart()  # of several requests, the last one answers
        passed = _write_pydantic(events, output)
        if own is not None:
            await own(context, passed)
        async for _ in passed:
            pass

    return {"event_stream_handler": read}


async def _write_pydantic(events: AsyncIterable[Any], output: TurnOutput) -> AsyncIterator[Any]:
    """Pass on the events, and write the text in them."""
    async for event in events:
        changed: Any = getattr(event, "part", None) or getattr(event, "delta", None)
        if event.event_kind == "part_start" and changed.part_kind == "text":
            output.write(changed.content)
        elif event.event_kind == "part_delta" and changed.part_delta_kind == "text":
            output.write(changed.content_delta)
        yield event


def _write_openai(event: Any, output: TurnOutput) -> None:
    data = event.data if event.type == "raw_response_event" else None
    kind = getattr(data, "type", "")
    if kind == "response.created":
        output.restart()
    elif data is not None and kind == "response.output_text.delta":
        output.write(data.delta)


def _langchain_handler(output: TurnOutput) -> object:
    """Return a callback that writes the answer of the model that speaks last.

    The mark, which LangGraph's stream of messages has too, lets models stream within `ainvoke`: unlike `astream`, that
    retries what `with_retry` should.
    """
    mark: Any = import_module("langchain_core.tracers._streaming")._StreamingCallbackHandler  # noqa: SLF001
    base: Any = import_module("langchain_core.callbacks").BaseCallbackHandler

    class Writer(base, mark):  # type: ignore[misc]  # known at run time only
        run_inline = True  # in the order of the tokens
        raise_error = True

        def on_chat_model_start(self, *_: Any, **_options: Any) -> None:
            output.restart()

        on_llm_start = on_chat_model_start

        def on_llm_new_token(self, token: Any, *, chunk: Any = None, **_options: Any) -> None:
            output.write(_message_text(getattr(chunk, "message", token)))

        def tap_output_aiter(self, _run: Any, events: Any) -> Any:
            return events

        def tap_output_iter(self, _run: Any, events: Any) -> Any:
            return events

    return Writer()


def _begins_with_graph(runnable: Any) -> bool:
    """Return whether a runnable gives its input to a LangGraph graph, such as `graph.with_retry()`."""
    while not _is_of(runnable, "langgraph"):
        inner = (getattr(runnable, name, None) for name in _FIRST)
        runnable = next(
            (candidate for candidate in inner if callable(getattr(candidate, "ainvoke", None))), None
        )
        if runnable is None:
            return False
    return True


def _to_data(output: object) -> object:
    """Return an output as a `TurnOutcome` takes it: a dataclass as a table, a number as text."""
    if dataclasses.is_dataclass(output) and not isinstance(output, type):
        return dataclasses.asdict(output)
    return str(output) if isinstance(output, int | float) else output


def _message_text(message: Any) -> object:
    """Return the text of a LangChain message, which may have several parts; anything else as it is."""
    if not _is_of(message, "langchain_core") or not hasattr(message, "content"):
        return message
    if isinstance(message.content, str):
        return message.content
    parts = (part if isinstance(part, str) else part.get("text", "") for part in message.content)
    return "".join(parts)


def _newest(messages: Sequence[Any]) -> Sequence[Any]:
    """Return the messages after the last one of the user: a graph with a memory returns older ones, too."""
    asked = [index for index, message in enumerate(messages) if getattr(message, "type", None) == "human"]
    return messages[asked[-1] + 1 :] if asked else messages


def _messages_usage(messages: Sequence[Any]) -> Usage | None:
    """Return the sum of what LangChain messages report; None: none of them reports any."""
    reported = [usage for message in messages if (usage := getattr(message, "usage_metadata", None))]
    total = Usage()
    for usage in reported:
        cached = (usage.get("input_token_details") or {}).get("cache_read") or 0
        total += _tokens(1, usage["input_tokens"], usage["output_tokens"], cached=cached)
    return total if reported else None


def _usage(reported: Any, *, cached: int, cost: Any = 0) -> Usage:
    usage = _tokens(reported.requests, reported.input_tokens, reported.output_tokens, cached=cached)
    return usage.model_copy(update={"cost_micros": int(cost * 1_000_000)})


def _tokens(requests: int, given: int, written: int, *, cached: int) -> Usage:
    return Usage(
        requests=requests, input_tokens=given, output_tokens=written, cached_tokens=min(cached, given)
    )

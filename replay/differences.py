"""What differs between a record and its replay, each in one line. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import zip_longest

from pydantic import BaseModel, JsonValue

from ..models.sessions.recorded import RecordedRequest, RecordedText, RecordedTool
from ..models.text.redact import excerpt

#: Maximum characters of a value in a line, and of the equal text before the difference.
MAX_VALUE = 100
_EQUAL = 20


def value_difference(field: str, recorded: object, now: object) -> str:
    """Return the line of a field with two values."""
    before, after = _around_difference(_shown(recorded), _shown(now))
    return f"{field}: recorded {before}, now {after}"


def text_differences(label: str, recorded: str, now: str) -> Iterator[str]:
    """Yield the line of the first difference of two texts."""
    lines = zip_longest(recorded.splitlines(), now.splitlines())
    for number, (before, after) in enumerate(lines, 1):
        if before != after:
            yield value_difference(f"{label}, line {number}", before, after)
            return
    if recorded != now:
        yield f"{label}: line breaks differ"


def data_differences(recorded: BaseModel, now: BaseModel, *, without: frozenset[str]) -> Iterator[str]:
    """Yield a line for each field that differs between two values of a model."""
    before, after = recorded.model_dump(mode="json"), now.model_dump(mode="json")
    for name in before:
        if name not in without and before[name] != after[name]:
            yield value_difference(name.replace("_", " "), before[name], after[name])


def request_differences(
    recorded: RecordedRequest,
    now: RecordedRequest,
    *,
    recorded_tools: Sequence[RecordedTool],
) -> Iterator[str]:
    """Yield a line for each difference of two requests; `recorded_tools` are those of the recorded one."""
    if recorded.model != now.model:
        yield value_difference("model", recorded.model, now.model)
    yield from _mapping_differences(recorded.settings, now.settings)
    yield from _prompt_differences(recorded.texts, now.texts)
    yield from _tool_differences(recorded_tools, now.tools or ())
    if recorded.form != now.form:
        yield "form of the answer: differs"


def _mapping_differences(recorded: Mapping[str, JsonValue], now: Mapping[str, JsonValue]) -> Iterator[str]:
    for name in sorted({*recorded, *now}):
        if recorded.get(name) != now.get(name):
            yield value_difference(name, recorded.get(name), now.get(name))


def _prompt_differences(recorded: Sequence[RecordedText], now: Sequence[RecordedText]) -> Iterator[str]:
    for before, after in zip_longest(recorded, now):
        if before is None or after is None:
            yield value_difference("parts of the prompt", len(recorded), len(now))
            return
        if before.label != after.label:
            yield value_difference("parts of the prompt", before.label, after.label)
            return
        if before.digest != after.digest:
            differences = list(text_differences(before.label, before.text, after.text))
            yield from differences or [
                f"{before.label}: differs after the first {len(before.text)} characters"
            ]


def _tool_differences(recorded: Sequence[RecordedTool], now: Sequence[RecordedTool]) -> Iterator[str]:
    before, after = ({tool.name: tool for tool in tools} for tools in (recorded, now))
    if before.keys() != after.keys():
        yield value_difference("tools", ", ".join(sorted(before)), ", ".join(sorted(after)))
    for name in sorted(before.keys() & after.keys()):
        if before[name] != after[name]:
            yield f"tool {name!r}: its description or its parameters differ"


def _shown(value: object) -> str:
    return "nothing" if value is None else repr(value)


def _around_difference(recorded: str, now: str) -> tuple[str, str]:
    """Return two values around their first difference, if they are too long to be shown whole."""
    if max(len(recorded), len(now)) <= MAX_VALUE:
        return recorded, now
    at = next(
        (i for i, (a, b) in enumerate(zip(recorded, now, strict=False)) if a != b),
        min(len(recorded), len(now)),
    )
    start = max(0, at - _EQUAL)
    return _cut(recorded, start), _cut(now, start)


def _cut(text: str, start: int) -> str:
    return f"{'…' if start else ''}{excerpt(text[start:], MAX_VALUE)}"

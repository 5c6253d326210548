"""Checks of guards, as pure functions: the text that they check, and why it is refused."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from pydantic import BaseModel, JsonValue

from .outputs import Schema, find_broken_rules
from .text.json_text import read_json
from .text.patterns import matches, pattern_size
from .text.redact import excerpt
from .turns.turn import TurnContext, TurnOutcome

#: Fields of an outcome beside its messages whose texts other participants or people may read.
OTHER_TEXTS = {"decision", "hand_off", "items", "learned", "notes", "question", "output"}


@dataclass(frozen=True, slots=True)
class CheckedText:
    """What a guard checks: an answer, or what an agent would be shown."""

    #: Text of the messages.
    said: str
    #: The messages and all other texts, such as those of a decision, a question, the data, or names of files.
    everything: str
    #: The text ends the turn; False: it is empty (a pass), or the agent asks a question before it continues.
    is_complete: bool
    #: Data beside the text; None: no data.
    data: JsonValue = None

    @classmethod
    def of_outcome(cls, outcome: TurnOutcome) -> CheckedText:
        """Return the text of an answer."""
        text = _clean("\n\n".join(draft.content for draft in outcome.messages))
        others: list[object] = [getattr(outcome, field) for field in sorted(OTHER_TEXTS)]
        others += [attachment.name for draft in outcome.messages for attachment in draft.attachments]
        return cls(
            said=text,
            everything="\n".join((text, *map(_clean, _texts(others)))),
            is_complete=bool(outcome.messages) and outcome.question is None,
            data=outcome.output,
        )

    @classmethod
    def of_context(cls, context: TurnContext) -> CheckedText:
        """Return what an agent would be shown: the newest message with its files, the instruction and the work item."""
        newest = context.messages[-1:]
        item = context.item.text if context.item else ""
        shown = _clean(
            "\n\n".join(filter(None, (*(message.content for message in newest), context.instruction, item)))
        )
        names = [_clean(attachment.name) for message in newest for attachment in message.attachments]
        return cls(said=shown, everything="\n".join((shown, *names)), is_complete=True)


def _texts(value: object) -> Iterator[str]:
    """Yield all texts of a value, the keys of objects of JSON included, but no names of fields."""
    waiting = [value]
    while waiting:
        part = waiting.pop()
        if isinstance(part, str):
            yield str(part)
        elif isinstance(part, list | tuple):
            waiting += part
        elif isinstance(part, Mapping):
            waiting += [*part, *part.values()]
        elif isinstance(part, BaseModel):
            waiting += [value for _, value in part]


def _clean(text: str) -> str:
    """Return a text without lone surrogates, which no expression can be matched against."""
    return text.encode("utf-8", "replace").decode()


#: Maximum characters of a reason.
MAX_REASON = 500
#: Maximum product of the size of an expression and the characters of a text: a few seconds of processor time at worst.
MAX_STEPS = 100_000_000
#: Maximum faults of a schema that a reason names.
_MAX_FAULTS = 3


def find_length_fault(text: CheckedText, *, min_chars: int, max_chars: int | None) -> str | None:
    """Return why the length of a text is refused; None: it is not."""
    length = len(text.said)
    if max_chars is not None and length > max_chars:
        return f"must have at most {max_chars} characters (got {length})"
    if text.is_complete and length < min_chars:
        return f"must have at least {min_chars} characters (got {length})"
    return None


def find_pattern_fault(text: CheckedText, *, forbid: str | None, require: str | None) -> str | None:
    """Return the expression that a text must not match, or does not match; None: the text is not refused."""
    if forbid is not None:
        refused = f"must not match {excerpt(forbid)!r}"
        return _time_fault(forbid, text.everything) or (refused if matches(forbid, text.everything) else None)
    if require is not None and text.is_complete:
        refused = f"must match {excerpt(require)!r}"
        return _time_fault(require, text.said) or (None if matches(require, text.said) else refused)
    return None


def _time_fault(pattern: str, text: str) -> str | None:
    """Return why a check would take too long; None: it does not."""
    most = MAX_STEPS // pattern_size(pattern)
    if len(text) <= most:
        return None
    return f"must have at most {most} characters to be checked with {excerpt(pattern)!r} (got {len(text)})"


def find_denied_word(text: CheckedText, words: Sequence[str]) -> str | None:
    """Return the first of the words that a text contains; None: it contains none."""
    if not matches(words_pattern(words), text.everything):
        return None
    candidates = words
    while len(candidates) > 1:  # an expression for every word would take seconds
        half = candidates[: len(candidates) // 2]
        candidates = half if matches(words_pattern(half), text.everything) else candidates[len(half) :]
    return f"must not contain the word {excerpt(candidates[0])!r}"


def find_schema_fault(text: CheckedText, schema: Schema) -> str | None:
    """Return why the data of a turn, or its text as JSON, is invalid; None: it is valid, or there is none."""
    if not text.is_complete and text.data is None:
        return None
    value: JsonValue = text.data
    if value is None:
        try:
            value = read_json(text.said)
        except ValueError:
            return "must be JSON that is valid under the schema of the guard"
    faults = find_broken_rules(schema, value)
    listed = "; ".join(faults[:_MAX_FAULTS])
    return f"must be valid under the schema of the guard: {listed}"[:MAX_REASON] if faults else None


def words_pattern(words: Sequence[str]) -> str:
    """Return the expression that matches whole words in any case. A word may contain signs: `c++`."""
    listed = "|".join(re.escape(word) for word in words)
    return rf"(?i)(?:^|\W)(?:{listed})(?:\W|$)"

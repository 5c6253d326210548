"""The text of a turn that guards check. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from pydantic import BaseModel, JsonValue

from ..turns.turn import TurnContext, TurnOutcome

#: Fields of an outcome beside its messages whose texts other participants or people may read.
OTHER_TEXTS = {"decision", "hand_off", "items", "learned", "question", "output"}


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
        said = _clean("\n\n".join(draft.content for draft in outcome.messages))
        others: list[object] = [getattr(outcome, field) for field in sorted(OTHER_TEXTS)]
        others += [it.name for draft in outcome.messages for it in draft.attachments]
        return cls(
            said=said,
            everything="\n".join((said, *map(_clean, _texts(others)))),
            is_complete=bool(outcome.messages) and outcome.question is None,
            data=outcome.output,
        )

    @classmethod
    def of_context(cls, context: TurnContext) -> CheckedText:
        """Return what an agent would be shown: the newest message with its files, the instruction and the work item."""
        newest = context.messages[-1:]
        item = context.item.text if context.item else ""
        shown = _clean("\n\n".join(filter(None, (*(it.content for it in newest), context.instruction, item))))
        names = [_clean(it.name) for message in newest for it in message.attachments]
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

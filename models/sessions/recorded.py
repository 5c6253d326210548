"""The record of a turn: what its agent was given, its model requests and tool calls, and its outcome.

A session that records its calls stores one record per written turn; a replay answers from the records. A record
holds no secrets: each text of it passes `scrub_secrets` first, and the digest of a text is that of its scrubbed
form. A long prompt is stored by its beginning and its digest, because the dialog in it is stored elsewhere.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from typing import Any

from pydantic import Field, JsonValue

from ..text.json_text import dump_json, parse_json
from ..text.redact import HIDDEN, names_secret, scrub_secrets
from ..turns.frozen import Frozen
from ..turns.turn import TurnOutcome, TurnResult
from .options import AgentBinding
from .plan import PlannedTurn

#: Maximum characters of a text of a prompt that are stored besides its digest.
MAX_TEXT = 4_000


class RecordedTool(Frozen):
    """A tool that a model may call."""

    name: str
    description: str = ""
    #: JSON schema of the arguments.
    parameters: dict[str, JsonValue] = Field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class ModelPrompt:
    """A model request as it is sent."""

    model: str
    settings: Mapping[str, JsonValue]
    #: Label and text of each part that is new since the request before, in order.
    texts: Sequence[tuple[str, str]]
    tools: tuple[RecordedTool, ...] = ()
    #: JSON of the form of the answer; empty: text.
    form: str = ""


class RecordedText(Frozen):
    """A part of a prompt."""

    #: What the part is, such as `instructions`.
    label: str
    digest: str
    #: The beginning of the text.
    text: str

    @classmethod
    def build(cls, label: str, text: str, secrets: Sequence[str]) -> RecordedText:
        """Return a part without the secrets."""
        text = scrub_data(text, secrets)
        return cls(label=label, digest=_digest(text), text=text[:MAX_TEXT])


class RecordedRequest(Frozen):
    """A model request and its answer."""

    #: Name in the call journal.
    call: str
    model: str
    settings: dict[str, JsonValue] = Field(default_factory=dict)
    texts: tuple[RecordedText, ...] = ()
    #: Tools of the request; None: those of the request before.
    tools: tuple[RecordedTool, ...] | None = None
    #: Digest of the form of the answer; empty: text.
    form: str = ""
    #: The answer as JSON data; None: there was none.
    answer: JsonValue = None

    @classmethod
    def build(cls, call: str, prompt: ModelPrompt, secrets: Sequence[str]) -> RecordedRequest:
        """Return a request without the secrets, and without its answer."""
        return cls(
            call=call,
            model=prompt.model,
            settings=scrub_data(dict(prompt.settings), secrets),
            texts=tuple(RecordedText.build(label, text, secrets) for label, text in prompt.texts),
            tools=tuple(
                RecordedTool.model_validate(scrub_data(tool.model_dump(mode="json"), secrets))
                for tool in prompt.tools
            ),
            form=_digest(prompt.form) if prompt.form else "",
        )


class RecordedToolCall(Frozen):
    """A tool call and its result."""

    #: Name in the call journal.
    call: str
    tool: str
    arguments: JsonValue = None
    #: The result as JSON data.
    answer: JsonValue = None
    #: False: the call had no result, or one that is not JSON.
    has_answer: bool = False
    #: What the tool asked the model to correct; None: nothing.
    retry: str | None = None


class SeenMessages(Frozen):
    """The part of the dialog that a turn saw."""

    count: int = 0
    #: Digest of the newest message; empty: none.
    newest: str = ""


class RecordedAsk(Frozen):
    """One call of the agent in a turn; a second one asks it to correct its answer."""

    #: Data of the `TurnContext` without its messages.
    context: dict[str, JsonValue]
    seen: SeenMessages = SeenMessages()
    #: The agent's note from an earlier turn.
    note: str | None = None
    requests: tuple[RecordedRequest, ...] = ()
    tool_calls: tuple[RecordedToolCall, ...] = ()
    #: The answer of the agent with the directives of its text; None: the agent failed.
    outcome: TurnOutcome | None = None


class RecordedTurn(Frozen):
    """The attempt of a turn that was written."""

    number: int
    token: str
    #: The agent that answered.
    binding: AgentBinding
    planned: PlannedTurn
    asks: tuple[RecordedAsk, ...] = ()
    result: TurnResult
    #: The record was too large: only the plan and the result are stored.
    is_cut: bool = False

    def cut(self) -> RecordedTurn:
        """Return the record without everything that a limit does not bound."""
        return self.model_copy(update={"asks": (), "is_cut": True})


def scrub_data(data: Any, secrets: Sequence[str]) -> Any:
    """Return JSON data without secrets in its texts, JSON texts included; names of fields do not change."""
    match data:
        case str():
            return _scrub_text(data, secrets)
        case Mapping():
            return {
                name: HIDDEN if isinstance(value, str) and names_secret(name) else scrub_data(value, secrets)
                for name, value in data.items()
            }
        case list() | tuple():
            return [scrub_data(value, secrets) for value in data]
        case _:
            return data


def _scrub_text(text: str, secrets: Sequence[str]) -> str:
    if text[:1] in ("{", "["):  # scrubbed as text, it might no longer be JSON
        try:
            parsed = parse_json(text)
        except ValueError:
            return scrub_secrets(text, secrets)
        scrubbed = scrub_data(parsed, secrets)
        return text if scrubbed == parsed else dump_json(scrubbed)
    return scrub_secrets(text, secrets)


def _digest(text: str) -> str:
    return sha256(text.encode("utf-8", "replace")).hexdigest()[:16]

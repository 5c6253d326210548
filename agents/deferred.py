"""Agents that answer later: people, and remote systems. No worker waits for the answer.

A person's agent writes no message. It asks the person of its participant, and the turn is parked until an
answer arrives: by `symposia reply`, `job.reply`, or a signed callback. A remote system gets each turn as a
signed webhook; its answer is a signed callback (`symposia callbacks`), or a call of `job.reply` for its
participant.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from typing import Any, TypeAlias

from pydantic import JsonValue

from ..models.errors import AgentFailed
from ..models.protocol.dialog import Message
from ..models.text.ids import format_timestamp
from ..models.text.json_text import dump_json
from ..models.turns.turn import TurnContext, TurnOutcome
from ..models.turns.waiting import RemoteDelivery, WaitPolicy
from .remote.entry import ExternalEntry, Webhooks
from .remote.http_call import HttpTarget
from .remote.webhook import post_webhook, refusal, signed_headers
from .sessions import SessionAgent

#: Maximum characters of an instruction in a question.
MAX_QUESTION_CHARS = 10_000
_OUTPUT_FORM = "Answer with JSON that is valid under this JSON schema:\n"


class HumanAgent:
    """The agent of a person."""

    def __init__(self, wait: WaitPolicy) -> None:
        self.wait = wait

    def speak_now(self, turn: TurnContext) -> TurnOutcome:
        """Ask the person for the output of this turn."""
        return ask_own_participant(turn)


def ask_own_participant(turn: TurnContext) -> TurnOutcome:
    """Return the question to the person whose turn it is."""
    asked = turn.instruction.strip() or (turn.item.text if turn.item else "")
    parts = [asked[:MAX_QUESTION_CHARS]]
    if turn.output_schema is not None:
        parts.append(_OUTPUT_FORM + dump_json(turn.output_schema)[:MAX_QUESTION_CHARS])
    return TurnOutcome.ask(turn.me.participant_id, "\n\n".join(filter(None, parts)))


#: Maximum bytes of a payload; if the dialog is longer, its oldest messages are left out.
MAX_BODY_BYTES = 262_144


@dataclass(frozen=True, slots=True)
class ExternalAgent:
    """The agent of a remote system."""

    entry: ExternalEntry
    webhooks: Webhooks
    read_variable: Callable[[str], str | None]
    wait: WaitPolicy

    def speak_now(self, turn: TurnContext) -> TurnOutcome:
        """Ask the remote system for the output of this turn."""
        return ask_own_participant(turn)

    def build_payload(self, turn: TurnContext, *, reply_token: str, until: datetime | None) -> str:
        """Return the JSON payload of a turn for the remote system."""
        fields: dict[str, Any] = {
            "type": "turn.asked",
            "session_id": turn.session_id,
            "turn_number": turn.turn_number,
            "participant": turn.me.participant_id,
            "reply_token": reply_token,
            "callback_url": self.webhooks.callback_url,
            "until": None if until is None else format_timestamp(until),
            "mode": turn.mode.value,
            "title": turn.title,
            "purpose": turn.purpose,
            "expects": turn.expects.value,
            "instruction": turn.instruction,
            "item": None if turn.item is None else turn.item.model_dump(mode="json"),
        }
        if turn.output_schema is not None:
            fields["output_schema"] = turn.output_schema
        messages = list(map(_message_json, turn.messages))
        sizes = [len(json.dumps(message)) for message in messages]
        room, kept = MAX_BODY_BYTES - len(json.dumps(fields)), 0
        while kept < len(sizes) and (room := room - sizes[-1 - kept]) >= 0:
            kept += 1
        return json.dumps({**fields, "messages": messages[len(messages) - kept :]})

    def deliver(self, delivery: RemoteDelivery) -> None:
        """Post the payload.

        Raises:
            AgentFailed: The delivery failed; `retryable` says whether a retry may succeed.
        """
        body = delivery.body.encode()
        headers = signed_headers(self.secret(), delivery.message_id, body, now_s=int(time.time()))
        target = HttpTarget(self.entry.url, self.entry.request_timeout_s, self.webhooks.networks)
        post_webhook(target, body, headers)

    def refusal(self, headers: dict[str, str], body: bytes) -> str | None:
        """Return why a callback is refused: `unsigned`, `expired` or `forged`; None: it is genuine."""
        return refusal(self.secret(), headers, body, now_s=int(time.time()))

    def secret(self) -> str:
        """Return the shared key for signatures.

        Raises:
            AgentFailed: The secret is not set.
        """
        secret = self.read_variable(self.entry.secret_env)
        if not secret:
            raise AgentFailed(f"environment variable {self.entry.secret_env} is not set", retryable=False)
        return secret


#: An agent that answers later: its question to its own participant parks the turn.
DeferredAgent: TypeAlias = HumanAgent | ExternalAgent | SessionAgent


def _message_json(message: Message) -> dict[str, JsonValue]:
    fields: dict[str, JsonValue] = {
        "speaker": message.speaker,
        "role": message.role.value,
        "content": message.content,
    }
    if message.former_speaker:
        fields["former_speaker"] = message.former_speaker
    if message.attachments:
        fields["attachments"] = [it.model_dump(mode="json") for it in message.attachments]
    return fields

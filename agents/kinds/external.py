"""`[agents.NAME] kind = "external"`: a remote system that receives its turn and answers later.

    [agents.partner]
    kind = "external"
    url = "https://hooks.example.com/turns"
    secret_env = "PARTNER_SECRET"                        # the variable's name, never the secret
    deadline_s = 86_400
    then = "skip"

It gets each turn as a signed webhook; its answer is a signed callback (`symposia callbacks`), or a call of `job.reply`
for its participant.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal, TypeAlias
from urllib.parse import urlsplit

from pydantic import Field, JsonValue

from ...models.errors import AgentFailed
from ...models.protocol.dialog import Message
from ...models.sessions.options import AgentBinding
from ...models.text.durations import Duration
from ...models.text.ids import format_timestamp
from ...models.turns.turn import TurnContext, TurnOutcome
from ...models.turns.waiting import RemoteDelivery, WaitPolicy
from ..entry import FieldProblem, KindEnv
from ..remote.http_call import HttpTarget
from ..remote.webhook import post_webhook, refusal, signed_headers
from ..tables import FileTables, HttpUrl, VariableName, Webhooks, Window
from .human import HumanAgent, WaitingEntry, ask_own_participant
from .session import SessionAgent


class ExternalEntry(WaitingEntry):
    """The entry of a remote system."""

    kind: Literal["external"]
    #: URL to which its turns are posted.
    url: HttpUrl
    #: Name of the variable with the secret for signatures.
    secret_env: VariableName
    #: Maximum delivery attempts before the turn fails.
    attempts: int = Field(default=8, ge=1, le=50)
    #: Timeout of one delivery in seconds.
    request_timeout_s: Duration = Field(default=10, gt=0, le=20)
    #: Maximum number of dialog messages in the payload.
    window: Window = 20

    @property
    def _host(self) -> str:
        return urlsplit(self.url).hostname or ""

    def create(self, binding: AgentBinding, env: KindEnv) -> ExternalAgent:
        """As in AgentKind."""
        return ExternalAgent(self, env.tables.webhooks, env.read_variable, binding.wait or self)

    def describe(self) -> str:
        """As in AgentKind."""
        return self._host

    def check(self, env: KindEnv) -> Iterator[FieldProblem]:
        """As in AgentKind."""
        if not env.read_variable(self.secret_env):
            yield FieldProblem("secret_env", f"environment variable {self.secret_env} is not set")

    def broken_rules(self, tables: FileTables, _sessions: Collection[str]) -> Iterator[tuple[str, str]]:
        """As in AgentKind."""
        if not tables.webhooks.allows(self._host):
            hosts = ", ".join(tables.webhooks.hosts)
            yield "url", f"must be on a host allowed by [webhooks] hosts: {hosts} (got {self._host!r})"


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


def _message_json(message: Message) -> dict[str, JsonValue]:
    fields: dict[str, JsonValue] = {
        "speaker": message.speaker,
        "role": message.role.value,
        "content": message.content,
    }
    if message.former_speaker:
        fields["former_speaker"] = message.former_speaker
    if message.attachments:
        fields["attachments"] = [attachment.model_dump(mode="json") for attachment in message.attachments]
    return fields


#: An agent that answers later: its question to its own participant parks the turn.
DeferredAgent: TypeAlias = HumanAgent | ExternalAgent | SessionAgent

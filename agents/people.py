"""Table `[people]` of an agents file: where people are notified of their questions, and who is asked after them.

[people.ann]
email = "ann@example.com"
chat = "SLACK_ANN"            # variable with the URL of an incoming webhook, never the URL
remind_after = "4h"
escalate_after = "24h"
escalate_to = "bob"
"""

from __future__ import annotations

from collections.abc import Mapping
from email.headerregistry import Address
from typing import Annotated, Self

from pydantic import AfterValidator, Field, model_validator

from ..models.sessions.options import AgentName
from ..models.turns.waiting import Seconds, WaitPolicy
from .tables import EntryBase, VariableName


def _mail_address(text: str) -> str:
    try:
        address = Address(addr_spec=text)
    except (ValueError, IndexError):
        address = Address()
    if not (text.isascii() and address.username and address.domain):
        raise ValueError("must be an email address such as team@example.com")
    return text


MailAddress = Annotated[str, Field(max_length=254), AfterValidator(_mail_address)]


class PersonEntry(EntryBase):
    """A person: addresses, and the times of reminder and escalation."""

    email: MailAddress | None = None
    #: Environment variable with the URL of an incoming webhook of Slack, Mattermost or a compatible chat.
    chat: VariableName | None = None
    #: Seconds after the question; None: no reminder.
    remind_after: Seconds | None = None
    #: Seconds after the question at which `escalate_to` may answer, too.
    escalate_after: Seconds | None = None
    escalate_to: AgentName | None = None

    @model_validator(mode="after")
    def _check_escalation(self) -> Self:
        if (self.escalate_after is None) != (self.escalate_to is None):
            raise ValueError("`escalate_after` and `escalate_to` must be set together")
        return self

    @property
    def channels(self) -> tuple[str, ...]:
        """Ways to reach the person: `email`, `chat`."""
        return tuple(name for name in ("email", "chat") if getattr(self, name) is not None)

    def complete(self, policy: WaitPolicy) -> WaitPolicy:
        """Return a wait policy with the times of this person, where it has none of its own."""
        times: dict[str, object] = {}
        if self.remind_after is not None and not policy.remind_after_s:
            times["remind_after_s"] = (self.remind_after,)
        if self.escalate_to is not None and policy.escalate_to is None:
            times |= {"escalate_after_s": self.escalate_after, "escalate_to": self.escalate_to}
        return policy.model_copy(update=times)


#: The people of an agents file, by name.
People = Mapping[str, PersonEntry]

"""`[agents.NAME] kind = "external"`: a remote system that receives its turn and answers later.

[webhooks]
hosts = ["hooks.example.com", "*.partner.example"]   # no other host is called
networks = ["10.20.0.0/16"]                          # private addresses that may be called
callback_url = "https://symposia.example.com/replies"

[agents.partner]
kind = "external"
url = "https://hooks.example.com/turns"
secret_env = "PARTNER_SECRET"                        # the variable's name, never the secret
deadline_s = 86_400
then = "skip"
"""

from __future__ import annotations

from ipaddress import IPv4Network, IPv6Network
from typing import Annotated, Literal

from pydantic import AfterValidator, Field, IPvAnyNetwork, StringConstraints

from ...models.turns.waiting import WaitPolicy
from ..entry_base import EntryBase, HttpUrl, VariableName, Window

Network = IPv4Network | IPv6Network


def _short_enough(host: str) -> str:
    if len(host.removeprefix("*.")) > 253:
        raise ValueError("must have at most 253 characters, without `*.`")
    return host


# The length is not checked by the pattern: it would take 40 ms to compile, in every process.
_Host = Annotated[
    str,
    StringConstraints(pattern=r"^(\*\.)?[a-zA-Z0-9.:-]+$", to_lower=True),
    AfterValidator(_short_enough),
]


class Webhooks(EntryBase):
    """`[webhooks]`: hosts and networks to which turns may be delivered."""

    #: Host names, or `*.` and the end of a host name. Empty: the hosts of the entries.
    hosts: tuple[_Host, ...] = Field(default=(), max_length=1_000)
    #: Private networks that may be called, also without TLS.
    networks: tuple[IPvAnyNetwork, ...] = Field(default=(), max_length=100)
    #: Public URL of `symposia callbacks`; sent to the remote systems.
    callback_url: HttpUrl | None = None

    def allows(self, host: str) -> bool:
        """Return whether this host may be called."""
        host = host.lower()
        return not self.hosts or any(
            host.endswith(it[1:]) if it.startswith("*.") else host == it for it in self.hosts
        )


class ExternalEntry(EntryBase, WaitPolicy):
    """The entry of a remote system. A binding's `wait` takes precedence."""

    kind: Literal["external"]
    #: URL to which its turns are posted.
    url: HttpUrl
    #: Name of the variable with the secret for signatures.
    secret_env: VariableName
    #: Maximum delivery attempts before the turn fails.
    attempts: int = Field(default=8, ge=1, le=50)
    #: Timeout of one delivery in seconds.
    request_timeout_s: float = Field(default=10, gt=0, le=20)
    #: Maximum number of dialog messages in the payload.
    window: Window = 20

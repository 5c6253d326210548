"""What may stand in a file of deliveries: where reports go, by name.

    [archive]
    kind = "folder"
    folder = "/srv/reviews"

    [board]
    kind = "webhook"
    url = "https://hooks.example.com/reviews"
    secret_env = "BOARD_SECRET"              # the variable's name, never the secret

    [team]
    kind = "email"
    host = "smtp.example.com"
    sender = "reviews@example.com"
    to = ["team@example.com"]
    username = "reviews"
    password_env = "SMTP_PASSWORD"

A schedule names a delivery; only this file, which is the operator's, names folders, hosts and variables.
"""

from __future__ import annotations

from email.headerregistry import Address
from pathlib import Path
from typing import Annotated, Literal, Self

from pydantic import AfterValidator, Field, IPvAnyNetwork, RootModel, StringConstraints, model_validator

from ...agents.tables import Entry, HttpUrl, Variable
from ...models.paths import ExpandedPath
from ...models.schedules.schedule import Name


def _absolute(path: Path) -> Path:
    if not path.is_absolute():
        raise ValueError("must be an absolute path")
    return path


def _mail_address(text: str) -> str:
    try:
        address = Address(addr_spec=text)
    except (ValueError, IndexError):
        address = Address()
    if not (text.isascii() and address.username and address.domain):
        raise ValueError("must be an address such as team@example.com")
    return text


AbsolutePath = Annotated[ExpandedPath, AfterValidator(_absolute)]
MailAddress = Annotated[str, Field(max_length=254), AfterValidator(_mail_address)]
HostName = Annotated[str, StringConstraints(max_length=253, pattern=r"^[A-Za-z0-9.:_-]+$")]


class Retried(Entry):
    """What all deliveries have."""

    #: Deliveries that are tried before one is given up: 10 s apart, then 20 s, 40 s, up to an hour.
    attempts: int = Field(default=8, ge=1, le=50)


class FolderEntry(Retried):
    """Reports are written into a folder of their own below this one."""

    kind: Literal["folder"]
    folder: AbsolutePath
    #: Runs that are kept of each root and panel; older ones are deleted.
    keep: int = Field(default=30, ge=1, le=10_000)


class WebhookEntry(Retried):
    """A summary with the findings is posted as JSON, signed as turns of remote systems are."""

    kind: Literal["webhook"]
    url: HttpUrl
    secret_env: Variable
    #: Networks that may be called although they are private, and without TLS.
    networks: tuple[IPvAnyNetwork, ...] = Field(default=(), max_length=100)
    #: Seconds one attempt may take.
    timeout_s: float = Field(default=10, gt=0, le=60)


class EmailEntry(Retried):
    """A summary is sent, with the reports attached. There is no sending without TLS."""

    kind: Literal["email"]
    host: HostName
    #: None: 587, or 465 where TLS comes first.
    port: int | None = Field(default=None, ge=1, le=65_535)
    #: `starttls`: the connection is encrypted before anything is said; `tls`: from its beginning.
    security: Literal["starttls", "tls"] = "starttls"
    #: Certificates to trust instead of the system's.
    ca_file: AbsolutePath | None = None
    sender: MailAddress
    to: tuple[MailAddress, ...] = Field(min_length=1, max_length=100)
    username: str | None = Field(default=None, min_length=1, max_length=254)
    password_env: Variable | None = None
    #: Seconds each step of the conversation may take.
    timeout_s: float = Field(default=30, gt=0, le=120)

    @model_validator(mode="after")
    def _knows_who_logs_in(self) -> Self:
        if (self.username is None) != (self.password_env is None):
            raise ValueError("username and password_env must be given together, or neither")
        return self


DeliveryEntry = Annotated[FolderEntry | WebhookEntry | EmailEntry, Field(discriminator="kind")]


class DeliveriesFile(RootModel[Annotated[dict[Name, DeliveryEntry], Field(max_length=1_000)]]):
    """A whole file."""

"""Entries of a webhooks file: where events go, and which events of code hosts are received.

    [webhooks.ops]
    url = "https://ops.example.com/symposia"     # or url_env, if the URL is a secret
    events = ["session.failed", "question.asked", "review.ended"]
    tenant = "shop"                              # only its sessions; left out: all
    secret_env = "OPS_SECRET"                    # the variable's name, never the secret

    [hooks.shop]
    secret_env = "SHOP_HOOK_SECRET"
    repository = "example/shop"
    review = "pulls"                             # a schedule that reviews open pull requests
    deliver = "pulls"                            # for comments: a delivery of the deliveries file
    model = "house"                              # the agent that answers comments

Only this file names addresses, variables, schedules and deliveries; an event names none.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from enum import StrEnum
from functools import cache
from pathlib import Path
from typing import Annotated, Self

from pydantic import Field, IPvAnyNetwork, StringConstraints, ValidationError, model_validator

from ...agents.registry.source import FileKind, FileSource
from ...agents.tables import EntryBase, HttpUrl, VariableName
from ...config.settings import Settings, read_variable
from ...models.errors import InvalidInput, invalid_input
from ...models.text.durations import Duration
from ...models.text.ids import ResourceName
from ...models.text.nearest import nearest_names
from ...models.text.paths import TomlFileError, read_toml

#: File in the working folder, used if no file is named.
DEFAULT_FILE = Path("webhooks.toml")
Networks = Annotated[tuple[IPvAnyNetwork, ...], Field(max_length=100)]
RepositoryName = Annotated[
    str, StringConstraints(max_length=200, pattern=r"^[A-Za-z0-9._-]+(/[A-Za-z0-9._-]+)+$")
]
Tenant = Annotated[str, StringConstraints(min_length=1, max_length=200)]


class EventType(StrEnum):
    """Type of an event."""

    #: Any end of a session.
    SESSION_ENDED = "session.ended"
    #: A cancellation that no user requested, such as that after a failed turn.
    SESSION_FAILED = "session.failed"
    QUESTION_ASKED = "question.asked"
    REVIEW_ENDED = "review.ended"
    #: Sent by `symposia webhook test` only.
    TEST = "webhook.test"


class WebhookEntry(EntryBase):
    """A webhook: events that are sent to a URL."""

    url: HttpUrl | None = None
    #: Environment variable with the URL.
    url_env: VariableName | None = None
    secret_env: VariableName
    events: Annotated[tuple[EventType, ...], Field(min_length=1, max_length=10)]
    #: Only sessions of this tenant; None: all.
    tenant: Tenant | None = None
    #: Networks that may be called although they are private, also without TLS.
    networks: Networks = ()
    #: Seconds one request may take.
    timeout_s: Duration = Field(default=10, gt=0, le=60)

    @model_validator(mode="after")
    def _check(self) -> Self:
        if (self.url is None) == (self.url_env is None):
            raise ValueError("must have either `url` or `url_env`")
        if EventType.TEST in self.events:
            raise ValueError("`events` must not have webhook.test, which only the command sends")
        if self.tenant is not None and EventType.REVIEW_ENDED in self.events:
            raise ValueError("`tenant` cannot be combined with review.ended: a review has no tenant")
        return self


class HookEntry(EntryBase):
    """An incoming hook: events of a repository at GitHub or GitLab."""

    secret_env: VariableName
    #: Its path at the host, such as `example/shop`; events of others are refused.
    repository: RepositoryName
    #: Schedule that reviews open pull requests; None: pushes start no review.
    review: ResourceName | None = None
    #: Delivery to the code host, for answers to comments; None: comments are ignored.
    deliver: ResourceName | None = None
    #: Agent that answers comments; None: only commands and decisions count.
    model: ResourceName | None = None

    @model_validator(mode="after")
    def _check(self) -> Self:
        if self.review is None and self.deliver is None:
            raise ValueError("must have `review`, `deliver` or both")
        if self.model is not None and self.deliver is None:
            raise ValueError("`model` requires `deliver`")
        return self


class WebhooksFile(EntryBase):
    """The tables of a webhooks file."""

    webhooks: Annotated[dict[ResourceName, WebhookEntry], Field(max_length=100)] = Field(default_factory=dict)
    hooks: Annotated[dict[ResourceName, HookEntry], Field(max_length=100)] = Field(default_factory=dict)


class WebhooksConfig:
    """What a webhooks file defines. `getenv` reads the environment variables with secrets."""

    def __init__(self, file: WebhooksFile, *, getenv: Callable[[str], str | None]) -> None:
        self.webhooks: Mapping[str, WebhookEntry] = file.webhooks
        self.hooks: Mapping[str, HookEntry] = file.hooks
        self._getenv = getenv
        #: Types of events that at least one webhook gets.
        self.events = frozenset(event for entry in file.webhooks.values() for event in entry.events)

    @classmethod
    def load(cls, path: Path | None, *, getenv: Callable[[str], str | None]) -> WebhooksConfig:
        """Return the content of a file; None: of `webhooks.toml` in the working folder, if it exists.

        Raises:
            InvalidInput: The file is missing, is not TOML, or breaks a rule; the message names the rule.
        """
        if path is None and not DEFAULT_FILE.is_file():
            return cls(WebhooksFile(), getenv=getenv)
        path = path or DEFAULT_FILE
        try:
            return cls(WebhooksFile.model_validate(read_toml(path)), getenv=getenv)
        except TomlFileError as error:
            raise InvalidInput("webhooks_file", str(path), error.rule) from None
        except ValidationError as error:
            raise invalid_input(error, prefix=path.name) from None

    def changes_to(self, newer: WebhooksConfig) -> list[str]:
        """Return the differences of a newer one: `added ops`, `removed team`, `changed shop`."""
        before, after = {**self.webhooks, **self.hooks}, {**newer.webhooks, **newer.hooks}
        versions = {name: (before.get(name), after.get(name)) for name in sorted({*before, *after})}
        return [
            f"{'added' if old is None else 'removed' if new is None else 'changed'} {name}"
            for name, (old, new) in versions.items()
            if old != new
        ]

    def webhook(self, name: str) -> WebhookEntry:
        """Return the webhook of a name. Raises InvalidInput: the name is unknown; the error lists the known names."""
        if name not in self.webhooks:
            near = nearest_names(name, self.webhooks)
            rule = "must be a webhook of the webhooks file"
            raise InvalidInput("webhook", name, f"{rule}: {near}" if near else f"{rule}, which defines none")
        return self.webhooks[name]

    def receivers(self, event: EventType, tenant: str | None) -> list[str]:
        """Return the names of the webhooks that get an event of a tenant's session."""
        if event not in self.events:
            return []
        return [
            name
            for name, entry in self.webhooks.items()
            if event in entry.events and entry.tenant in (None, tenant)
        ]

    def secret(self, variable: str) -> str:
        """Return the value of an environment variable. Raises InvalidInput: it is not set."""
        value = self._getenv(variable)
        if not value:
            raise InvalidInput("environment", variable, "must be set")
        return value

    def problems(self) -> Iterator[str]:
        """Yield the problems that would make deliveries or hooks fail on this machine, one line each."""
        for table, entries in (("webhooks", self.webhooks), ("hooks", self.hooks)):
            for name, entry in entries.items():
                for field, variable in entry:
                    if field.endswith("_env") and variable is not None and not self._getenv(variable):
                        yield f"[{table}.{name}]: environment variable {variable} is not set"


def load_webhooks(settings: Settings) -> WebhooksConfig:
    """Return the configured webhooks. Raises InvalidInput: the file breaks a rule."""
    return WebhooksConfig.load(settings.webhooks_file, getenv=read_variable)


def _removed(path: Path) -> InvalidInput:
    return InvalidInput("webhooks_file", str(path), "was removed")


_KIND = FileKind(
    "webhooks file", "webhooks", _removed, WebhooksConfig.problems, "affected events are not sent"
)


def follow_webhooks(settings: Settings) -> Callable[[], WebhooksConfig]:
    """Return a function that returns the current webhooks; it follows changes of the file, and reads it when first called."""

    @cache
    def source() -> FileSource[WebhooksConfig]:
        path = settings.webhooks_file or DEFAULT_FILE
        return FileSource(path, lambda *_: load_webhooks(settings), _KIND)

    return lambda: source().current()

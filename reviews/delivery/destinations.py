"""Destinations of deliveries, by their names in the operator's file."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path

from pydantic import ValidationError

from ...models.errors import DeliveryFailed, InvalidInput, first_problem, invalid_input
from ...models.text.nearest import nearest_names
from ...models.text.paths import TomlFileError, read_toml
from ..values.changes import LinkedIssue
from . import senders
from .chat import send_to_chat
from .deliveries_file import (
    DeliveriesFile,
    DeliveryEntry,
    EmailEntry,
    FolderEntry,
    GithubEntry,
    GitlabEntry,
    SlackEntry,
    WebhookEntry,
)
from .hosts.api import HostApi, checked_answers
from .hosts.github import Repository
from .hosts.gitlab import Project
from .hosts.open_pulls import OpenPull, open_pulls_of
from .hosts.publish import Decisions, deliver_to_host
from .hosts.replies import DEFAULT_ASK_S, CommentEvent, ReplyResult, ReplyStore, reply_to_comment
from .payload import ReportPayload

#: File in the working folder, used if no file is named.
DEFAULT_FILE = Path("deliveries.toml")

Getenv = Callable[[str], str | None]


class Destinations:
    """Destinations of reports. `getenv` reads the environment variables with secrets."""

    def __init__(self, file: DeliveriesFile, *, getenv: Getenv) -> None:
        self._entries = file.root
        self._getenv = getenv

    @classmethod
    def load(cls, path: Path | None, *, getenv: Getenv) -> Destinations:
        """Return the destinations of a file; None: of `deliveries.toml` in the working folder, if it exists.

        Raises:
            InvalidInput: The file is missing, is not TOML, or breaks a rule; the message names the rule.
        """
        if path is None and not DEFAULT_FILE.is_file():
            return cls(DeliveriesFile({}), getenv=getenv)
        return cls(_read(path or DEFAULT_FILE), getenv=getenv)

    def changes_to(self, newer: Destinations) -> list[str]:
        """Return the differences of newer destinations: `added team`, `removed mail`, `changed chat`."""
        names = sorted({*self._entries, *newer._entries})
        versions = {name: (self._entries.get(name), newer._entries.get(name)) for name in names}
        return [
            f"{'added' if old is None else 'removed' if new is None else 'changed'} {name}"
            for name, (old, new) in versions.items()
            if old != new
        ]

    def names(self) -> list[str]:
        """Return the names of all destinations."""
        return sorted(self._entries)

    def entry(self, name: str) -> DeliveryEntry:
        """Return the entry of a name. Raises InvalidInput: the name is unknown; the error lists the known names."""
        if name not in self._entries:
            near = nearest_names(name, self._entries)
            rule = "must be a delivery of the deliveries file"
            raise InvalidInput("deliver", name, f"{rule}: {near}" if near else f"{rule}, which defines none")
        return self._entries[name]

    def check(self, names: Iterable[str]) -> None:
        """Raise InvalidInput for the first unknown name."""
        for name in names:
            self.entry(name)

    def deliver(self, name: str, payload: ReportPayload, *, decisions: Decisions | None = None) -> None:
        """Attempt one delivery. A repeated call is safe, because receivers can detect duplicates.

        `decisions`: those of people about findings; new ones from the comments of a pull request are added.
        None: these are not stored.

        Raises:
            InvalidInput: The name is unknown.
            DeliveryFailed: The delivery failed; `retryable`: whether a retry may succeed.
        """
        match self.entry(name):
            case FolderEntry() as entry:
                senders.write_to_folder(entry, payload)
            case WebhookEntry() as entry:
                senders.send_webhook(
                    entry, payload, message_id=payload.message_id(name), secret=self._secret(entry.secret_env)
                )
            case EmailEntry() as entry:
                password = entry.password_env and self._secret(entry.password_env)
                senders.send_mail(entry, payload, message_id=payload.message_id(name), password=password)
            case GithubEntry() | GitlabEntry():
                code_host, api = self.code_host(name)
                deliver_to_host(_host(code_host, api), code_host, payload, decisions)
            case SlackEntry() as entry:
                send_to_chat(entry, payload, url=self._secret(entry.url_env).strip())

    def reply(
        self,
        name: str,
        event: CommentEvent,
        *,
        decisions: ReplyStore,
        ask: Callable[[str], str] | None,
        ask_s: float = DEFAULT_ASK_S,
    ) -> ReplyResult:
        """Do what a new comment on a pull request asks for: see `hosts.replies.reply_to_comment`.

        Raises:
            InvalidInput: The name is not that of a delivery to a code host.
            DeliveryFailed: The host refuses, or does not answer.
        """
        entry, api = self.code_host(name)
        repository = entry.repository if isinstance(entry, GithubEntry) else entry.project
        is_same = event.repository.casefold().endswith(f"/{repository.casefold()}")
        if not (is_same or repository.isdecimal()):
            raise InvalidInput("event", event.repository, f"must be of the repository of the delivery {name}")
        with checked_answers(entry.api_url):
            return reply_to_comment(_host(entry, api), event, decisions, ask, ask_s=ask_s)

    def list_open_pulls(self, name: str) -> Sequence[OpenPull]:
        """Return the open pull requests of a code host, the oldest first.

        Raises:
            InvalidInput: The name is not that of a delivery to a code host.
            DeliveryFailed: The host refuses, or does not answer.
        """
        entry, api = self.code_host(name)
        with checked_answers(entry.api_url):
            return open_pulls_of(entry, api).list_open()

    def linked_issues(self, name: str, number: int) -> Sequence[LinkedIssue]:
        """Return the issues that a pull request closes. Raises as `list_open_pulls` does."""
        entry, api = self.code_host(name)
        with checked_answers(entry.api_url):
            return open_pulls_of(entry, api).linked_issues(number)

    def code_host(self, name: str) -> tuple[GithubEntry | GitlabEntry, HostApi]:
        """Return the entry of a delivery to a code host, and its API.

        Raises:
            InvalidInput: The name is not that of such a delivery.
            DeliveryFailed: There is no token.
        """
        entry = self.entry(name)
        if not isinstance(entry, GithubEntry | GitlabEntry):
            raise InvalidInput("deliver", name, "must be a delivery of the kind github or gitlab")
        return entry, HostApi(entry, self._secret(entry.token_env).strip())

    def problems(self) -> Iterator[str]:
        """Yield the problems that would make deliveries fail on this machine, one line each.

        Deliver nothing.
        """
        for name, entry in self._entries.items():
            if isinstance(entry, FolderEntry):
                folder = next(path for path in (entry.folder, *entry.folder.parents) if path.exists())
                if not (folder.is_dir() and os.access(folder, os.W_OK | os.X_OK)):
                    yield f"[{name}] folder: {folder} is not writable"
            for variable in entry.variables:
                if not self._getenv(variable):
                    yield f"[{name}]: environment variable {variable} is not set"

    def _secret(self, variable: str) -> str:
        secret = self._getenv(variable)
        if not secret:
            raise DeliveryFailed(f"environment variable {variable} is not set", retryable=False)
        return secret


def _host(entry: GithubEntry | GitlabEntry, api: HostApi) -> Repository | Project:
    return Repository(entry, api) if isinstance(entry, GithubEntry) else Project(entry, api)


def _read(path: Path) -> DeliveriesFile:
    try:
        return DeliveriesFile.model_validate(read_toml(path))
    except TomlFileError as error:
        raise InvalidInput("deliveries_file", str(path), error.rule) from None
    except ValidationError as error:
        bad = invalid_input(error, prefix=path.name)
        name, *rest = first_problem(error)["loc"] or ("",)
        if rest:  # pydantic adds the tag of the union, which is not a field
            bad.field = bad.field.replace(f".{name}.{rest[0]}", f".{name}", 1)
        raise bad from None

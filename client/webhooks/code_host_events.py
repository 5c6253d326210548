"""Events that GitHub and GitLab send: their signatures, and what they ask for. Pure.

Source: https://docs.github.com/webhooks/webhook-events-and-payloads,
https://docs.gitlab.com/user/project/integrations/webhook_events/.
"""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Mapping
from enum import StrEnum
from typing import Any

from ...jobs.strict_data import read_json
from ...models.errors import InvalidInput
from ...reviews.delivery.hosts.replies import parse_event
from ...reviews.values.code_links import web_address

_SIGNED = "sha256="
#: Actions of pull requests after which their newest commit may be unreviewed.
_GITHUB_ACTIONS = frozenset({"opened", "synchronize", "reopened", "ready_for_review"})
_GITLAB_ACTIONS = frozenset({"open", "reopen"})
_DRAFT_CHANGES = ("draft", "work_in_progress")


class CodeHostName(StrEnum):
    """A kind of code host."""

    GITHUB = "github"
    GITLAB = "gitlab"


class Request(StrEnum):
    """What an event asks for."""

    REVIEW = "review"
    COMMENT = "comment"
    NOTHING = "nothing"


def is_genuine(host: CodeHostName, secret: str, headers: Mapping[str, str], body: bytes) -> bool:
    """Return whether who sent a body knows the secret. Compares in constant time. `headers`: by names in lower case."""
    if host is CodeHostName.GITLAB:
        given, expected = headers.get("x-gitlab-token", ""), secret
    else:
        given = headers.get("x-hub-signature-256", "")
        expected = _SIGNED + hmac.new(secret.encode(), body, hashlib.sha256).hexdigest()
    return hmac.compare_digest(expected.encode(), given.encode(errors="replace"))


def delivery_id(host: CodeHostName, headers: Mapping[str, str]) -> str:
    """Return the id that the host gives an event; empty: it has none."""
    if host is CodeHostName.GITHUB:
        return headers.get("x-github-delivery", "")
    return headers.get("idempotency-key", "") or headers.get("x-gitlab-event-uuid", "")


def read_event(body: bytes) -> Any:
    """Return the data of an event. Raises InvalidInput: it is not JSON."""
    try:
        return read_json(body.decode())
    except (ValueError, RecursionError):
        raise InvalidInput("event", "(body)", "must be JSON") from None


def read_request(host: CodeHostName, data: Any, repository: str) -> Request:
    """Return what an event asks for.

    Args:
        host: The kind of the host.
        data: The JSON of the event.
        repository: Path of the repository at the host.

    Raises:
        InvalidInput: It is not an event of this host and repository.
    """
    try:
        is_hook_test = host is CodeHostName.GITHUB and "zen" in data and "hook" in data
        address = (
            data["repository"]["html_url"] if host is CodeHostName.GITHUB else data["project"]["web_url"]
        )
        if not web_address(address).casefold().endswith(f"/{repository.casefold()}"):
            raise InvalidInput("repository", web_address(address), f"must be {repository}")
        if is_hook_test:
            return Request.NOTHING
        return _github(data) if host is CodeHostName.GITHUB else _gitlab(data)
    except InvalidInput:
        raise
    except (LookupError, TypeError, AttributeError, ValueError):
        raise InvalidInput("event", "(JSON)", f"must be an event of {host.value}") from None


def _github(data: Mapping[str, Any]) -> Request:
    if "comment" in data:
        return Request.COMMENT if parse_event(data) else Request.NOTHING
    is_change = "pull_request" in data and "review" not in data and data.get("action") in _GITHUB_ACTIONS
    return Request.REVIEW if is_change else Request.NOTHING


def _gitlab(data: Mapping[str, Any]) -> Request:
    if data["object_kind"] == "note":
        return Request.COMMENT if parse_event(data) else Request.NOTHING
    if data["object_kind"] != "merge_request":
        return Request.NOTHING
    attributes = data["object_attributes"]
    is_pushed = "oldrev" in attributes or any(name in (data.get("changes") or {}) for name in _DRAFT_CHANGES)
    is_change = attributes.get("action") in _GITLAB_ACTIONS or (
        attributes.get("action") == "update" and is_pushed
    )
    return Request.REVIEW if is_change else Request.NOTHING


#: Fields of a comment's event that are read; `None` keeps the whole value.
_COMMENT_FIELDS: Mapping[str, Any] = {
    "action": None,
    "comment": {
        "node_id": None,
        "body": None,
        "author_association": None,
        "diff_hunk": None,
        "user": {"type": None},
    },
    "issue": {"number": None, "pull_request": {"url": None}},
    "pull_request": {"number": None},
    "repository": {"html_url": None},
    "object_kind": None,
    "object_attributes": {
        **dict.fromkeys(("id", "note", "noteable_type", "action", "system", "type")),
        "position": {"new_line": None, "old_line": None},
        "original_position": {"new_line": None, "old_line": None},
        "st_diff": {"diff": None},
    },
    "project": {"web_url": None},
    "merge_request": {"iid": None},
    "user": {"id": None},
}


def comment_fields(data: Mapping[str, Any], fields: Mapping[str, Any] = _COMMENT_FIELDS) -> dict[str, Any]:
    """Return the part of a comment's event that is needed to answer it."""
    return {
        name: comment_fields(data[name], inner) if inner and isinstance(data[name], Mapping) else data[name]
        for name, inner in fields.items()
        if name in data
    }

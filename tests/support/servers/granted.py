"""A server on which Symposia has the rights that docs/security.md grants, and no other user has any."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from documents.pages import Page
from servers.own_server import own_server

SECURITY = Page("docs/security.md")
PASSWORD = "as-long-as-it-is-secret"
ADMIN = "redis://admin:admin@127.0.0.1:{port}/0"


def with_password(rule: str) -> str:
    """A line of an ACL file, as a page has it, with a password."""
    return rule.strip().replace("PASSWORD", PASSWORD)


SYMPOSIA_RULE = with_password(SECURITY.take("text", "user symposia on "))


@contextmanager
def granted_server(folder: Path, *rules: str) -> Iterator[tuple[str, str]]:
    """The URLs of the user `symposia` and of an administrator; `rules` are lines for other users."""
    lines = [
        "user default off",
        "user admin on >admin ~* &* +@all",
        SYMPOSIA_RULE,
        *rules,
    ]
    (folder / "users.acl").write_text("\n".join(lines) + "\n")
    with own_server(folder, f"aclfile {folder / 'users.acl'}", url=ADMIN) as admin:
        yield url_of("symposia", admin), admin


def url_of(user: str, admin: str) -> str:
    """The URL of this user at the same server."""
    return admin.replace("admin:admin", f"{user}:{PASSWORD}")

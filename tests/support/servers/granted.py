"""A server on which Symposia has the rights that docs/security.md grants, and no other user has any."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from documents.pages import Page
from servers.own_server import own_server

PASSWORD = "as-long-as-it-is-secret"
ADMIN = "redis://admin:admin@127.0.0.1:{port}/0"
SECURITY = Page("docs/security.md")
REDIS = Page("docs/deploying-redis.md")
#: Lines of an ACL file, by page and user.
_RULES = {
    ("security.md", "symposia"): SECURITY.take("text", "user symposia on "),
    ("deploying-redis.md", "keda"): REDIS.take("text", "user keda on "),
}


def read_rule(page: str, user: str) -> str:
    """The line of an ACL file that a page has for this user, with a password."""
    return _RULES[page, user].strip().replace("PASSWORD", PASSWORD)


@contextmanager
def granted_server(folder: Path, *rules: str) -> Iterator[tuple[str, str]]:
    """The URLs of the user `symposia` and of an administrator; `rules` are lines for other users."""
    lines = [
        "user default off",
        "user admin on >admin ~* &* +@all",
        read_rule("security.md", "symposia"),
        *rules,
    ]
    (folder / "users.acl").write_text("\n".join(lines) + "\n")
    with own_server(folder, f"aclfile {folder / 'users.acl'}", url=ADMIN) as admin:
        yield url_of("symposia", admin), admin


def url_of(user: str, admin: str) -> str:
    """The URL of this user at the same server."""
    return admin.replace("admin:admin", f"{user}:{PASSWORD}")

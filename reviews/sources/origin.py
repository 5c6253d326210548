"""Where reviewed files come from: revision, web address and folder of a root in its repository."""

from __future__ import annotations

from typing import TypedDict

from ...models.errors import InvalidInput
from ..values.code_links import web_address
from .repository import Repository


class RepositoryOrigin(TypedDict, total=False):
    """Fields of a review request."""

    revision: str
    repository_url: str
    repository_folder: str


def origin_of(repository: Repository | None, given_url: str | None = None) -> RepositoryOrigin:
    """Return the origin of a root.

    Args:
        repository: The root's repository; None: the root is in none.
        given_url: Address that replaces that of the remote `origin`.

    Raises:
        InvalidInput: `given_url` is not the address of a repository.
    """
    url = "" if given_url is None else web_address(given_url)
    if given_url is not None and not url:
        raise InvalidInput("repository_url", given_url, "must be like https://host/owner/repository")
    if repository is None:
        return {"repository_url": url}
    return {
        "revision": repository.head(),
        "repository_url": url or repository.web_address(),
        "repository_folder": repository.folder,
    }

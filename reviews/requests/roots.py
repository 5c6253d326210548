"""Root of a request: its folder, name, origin, identity in later runs, branch, scope, and last reviewed revision."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, TypedDict

from ...models.errors import InvalidInput
from ..archive.access import review_reader
from ..sources.files import FileSelection
from ..sources.git import Git
from ..sources.repository import Repository
from ..values.code_links import web_address
from ..values.panels import Panel

if TYPE_CHECKING:
    from ...archive.archive import Archive

#: Special revision `last`: that of the newest completed run.
LAST = "last"
#: Name of the archive as a root.
SESSIONS_NAME = "archived sessions"
#: Maximum characters of the name of a root.
_MAX_NAME = 100
#: Maximum characters of the name of a branch.
_MAX_BRANCH = 200


def scope_of(selection: FileSelection, panel: Panel, *, branch: str) -> str:
    """Return the scope of a review as 32 hexadecimal digits. The revision `selection.since` is not part of it.

    A review since the last one continues only a run of the same scope: a run of another scope may have left out
    files or agents, or reviewed another branch.
    """
    parts = [
        *(sorted(names) for names in (selection.paths, selection.include, selection.exclude, panel.agents)),
        *(selection.base, branch),
    ]
    return hashlib.sha256(json.dumps(parts).encode()).hexdigest()[:32]


class RepositoryOrigin(TypedDict, total=False):
    """Fields of a review request."""

    revision: str
    repository_url: str
    repository_folder: str


def origin_of(repository: Repository | None, given_url: str | None = None) -> RepositoryOrigin:
    """Return the origin of a root; `given_url`: address in place of that of the remote. Raises InvalidInput."""
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


def find_root(paths: Sequence[str | Path]) -> tuple[Path, tuple[str, ...]]:
    """Return the root of some paths, and the paths below it."""
    here = Path.cwd()
    places = [here / path for path in paths] or [here]
    for path, full_path in zip(paths, places, strict=False):
        if not full_path.exists():
            raise InvalidInput("path", str(path), "must be an existing file or folder")
    whole = [Path(os.path.normpath(full_path)) for full_path in places]
    shared = Path(
        os.path.commonpath([full_path if full_path.is_dir() else full_path.parent for full_path in whole])
    )
    if not shared.is_relative_to(here) or _work_tree(shared) != _work_tree(here):
        here = shared
    below = tuple(full_path.relative_to(here).as_posix() for full_path in whole)
    return here, () if "." in below else below


def checked_name(name: str | None) -> str | None:
    """Return the valid name of the root; None: no name was given."""
    if name is None:
        return None
    if not name.strip() or not name.isprintable() or len(name) > _MAX_NAME:
        raise InvalidInput("root_name", name, f"must be 1 to {_MAX_NAME} printable characters")
    if name == SESSIONS_NAME:
        raise InvalidInput(
            "root_name", name, "must be a different name: this one is reserved for the archive"
        )
    return name


def checked_branch(name: str | None, repository: Repository | None) -> str:
    """Return the valid name of a branch; None: that of the checked-out branch, empty if there is none.

    Raises:
        InvalidInput: The name cannot be shown, or is too long.
    """
    if name is None:
        branch = "" if repository is None else repository.branch()
        return branch if branch.isprintable() and len(branch) <= _MAX_BRANCH else ""
    if not name.strip() or not name.isprintable() or len(name) > _MAX_BRANCH:
        rule = f"must be 1 to {_MAX_BRANCH} printable characters"
        raise InvalidInput("branch", name, rule)
    return name


def root_identity(root: Path) -> str:
    """Return the identity of a folder, because its name may not be unique; it does not reveal the path."""
    return f"{root.name}-{hashlib.sha256(bytes(root.resolve())).hexdigest()[:16]}"


def _work_tree(folder: Path) -> Path | None:
    git = Git.find(folder)
    return None if git is None else git.work_tree


def last_revision(
    root: Path, *, identity: str, panel: str, scope: str, archive: Archive | None
) -> str | None:
    """Return the revision of the newest completed run of a scope; None: there is none, or git no longer has it.

    Raises:
        InvalidInput: There is no archive to look it up.
        ArchiveUnavailable: The archive does not answer.
    """
    if archive is None:
        rule = "must be a git revision: `last` requires the archive, which is disabled (SYMPOSIA_ARCHIVE)"
        raise InvalidInput("since", LAST, rule)
    archive.prepare()
    revision = review_reader(archive).last_revision(identity, panel, scope)
    repository = Repository.find(root)
    return revision if revision and repository is not None and repository.has_commit(revision) else None

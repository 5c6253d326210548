"""Requests to review files: a root and the files in it, a panel, and its settings."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, TypedDict, Unpack

from ..batches.request import ReviewRequest
from ..scope import scope_of
from ..sources.document_facts import source_of
from ..sources.files import FileSelection
from ..sources.origin import origin_of
from ..sources.repository import Repository
from .deliveries import delivery_options
from .panels import project_settings, resolve_panel
from .roots import LAST, checked_branch, checked_name, find_root, last_revision, root_identity

if TYPE_CHECKING:
    from ...archive.archive import Archive


class HowToReview(TypedDict, total=False):
    """Options of a review of files; every key is optional."""

    #: Name of the panel (default `code`).
    panel: str
    #: Agent for the model reviewers of the panel; None: no model is called.
    model: str | None
    #: Only changes since this git revision; `last`: since the newest completed run.
    since: str | None
    #: Only changes since the checked-out branch left this one.
    base: str | None
    #: Only files that match one of these patterns.
    include: Sequence[str]
    exclude: Sequence[str]
    #: True: include items that have not changed since this panel reviewed them last.
    everything: bool
    #: Files of settings of ruff and bandit that replace those of the reviewed project; None: those of the
    #: project; empty: none.
    config: Sequence[str | Path] | None
    #: Branch of the run; None: the checked-out branch.
    branch: str | None
    #: Branch whose last runs decide which findings are new; `last`: those of any branch.
    against: str
    #: Name of the root in runs and reports, which identifies it in any folder; None: name of the folder,
    #: whose path identifies it.
    root_name: str | None
    #: A file of panels; default: `panels.toml` in the working folder, if it exists.
    panels_file: Path | None
    #: Address of the repository, for links to lines; None: that of the remote `origin`.
    repository_url: str | None
    #: Deliveries of the report, by their names in the deliveries file of the workers.
    deliver: Sequence[str]
    #: Number of the pull or merge request that gets comments; None: none does.
    pull_request: int | None


def request_for_files(
    paths: Sequence[str | Path],
    *,
    archive: Archive | None = None,
    known_agents: frozenset[str] = frozenset(),
    **how: Unpack[HowToReview],
) -> ReviewRequest:
    """Return the request to review files on this machine; without a path: the working folder.

    The root is the working folder if all paths are in it and in its repository, else their common folder.
    `known_agents`: names that workers announced; empty if no worker announced any.

    Raises:
        InvalidInput: A path, revision or panel does not exist, the root name is not valid, or an agent is
            unknown.
        ArchiveUnavailable: The archive is needed for `last`, and does not answer.
    """
    panel = resolve_panel(
        how.get("panel", "code"), how.get("model"), how.get("panels_file"), known_agents=known_agents
    )
    root, chosen_paths = find_root(paths)
    given = checked_name(how.get("root_name"))
    known_by = given or root_identity(root)
    since, repository = how.get("since"), Repository.find(root)
    branch = checked_branch(how.get("branch"), repository)
    chosen = FileSelection(
        paths=chosen_paths,
        include=tuple(how.get("include", ())),
        exclude=tuple(how.get("exclude", ())),
        base=how.get("base"),
    )
    scope = scope_of(chosen, panel, branch=branch) if since in (None, LAST) else ""
    if since == LAST:
        since = last_revision(repository, root=known_by, panel=panel.name, scope=scope, archive=archive)
    chosen = replace(chosen, since=since)
    is_whole = not (chosen.paths or chosen.include or chosen.exclude or chosen.since or chosen.base)
    return ReviewRequest(
        root_name=given or root.name or "root",
        root=known_by,
        panel=panel,
        source=source_of(root, chosen, panel),
        settings=project_settings(panel, root, how.get("config")),
        folder=root,
        everything=how.get("everything", False),
        is_whole=is_whole,
        branch=branch,
        scope=scope,
        against="" if (against := how.get("against", LAST)) == LAST else checked_branch(against, None),
        **origin_of(repository, how.get("repository_url")),
        then=delivery_options(how.get("deliver", ()), how.get("pull_request")),
    )

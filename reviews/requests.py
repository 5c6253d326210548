"""Review requests: files or archived sessions, and a panel with an agent for every reviewer."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, TypedDict, Unpack

from pydantic import JsonValue, ValidationError

from ..models.errors import InvalidInput, SessionNotFound, UnknownAgent, invalid_input
from ..models.review.panels import Panel
from ..models.review.runs import DeliveryRequest
from ..models.review.tool_settings import ToolSettings
from .batches.start import ReviewRequest
from .panels import find_panel, uses_project_settings
from .scope import scope_of
from .sources.archived_sessions import SessionSource
from .sources.document_facts import source_of
from .sources.files import FileSelection, list_files
from .sources.git import Git
from .sources.origin import origin_of
from .sources.project_settings import read_given_settings, read_project_settings
from .sources.repository import Repository
from .sources.source import SourceLimits

if TYPE_CHECKING:
    from ..archive.archive import Archive

#: Special revision `last`: that of the newest completed run.
LAST = "last"
#: Name of the archive as a root.
SESSIONS_NAME = "archived sessions"
#: Maximum characters of the name of a root.
_MOST_CHARACTERS = 100
#: Maximum characters of the name of a branch.
_MOST_BRANCH_CHARACTERS = 200


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
    root, chosen_paths = _find_root(paths)
    given = _checked_name(how.get("root_name"))
    known_by = given or _identity(root)
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
        then=_deliveries(how.get("deliver", ()), _pull_request(how.get("pull_request"), repository)),
    )


def project_settings(panel: Panel, root: Path, config: Sequence[str | Path] | None = None) -> ToolSettings:
    """Return the settings with which the programs of a panel review the files of a root.

    `config`: files that replace those of the project; None: the project's own; empty: none.

    Raises:
        InvalidInput: A file of `config` has no settings.
    """
    if config is None and not uses_project_settings(panel):
        return ToolSettings()
    files = list(list_files(root))
    if config is None:
        return read_project_settings(root, files)
    return read_given_settings([Path(it) for it in config], files)


def _deliveries(
    names: Sequence[str], pull_request: Mapping[str, object] | None = None
) -> dict[str, JsonValue]:
    """Return the options of the deliveries at the end; empty without any."""
    if not names:
        return {}
    try:
        wanted = DeliveryRequest.model_validate({"deliver": tuple(names), "pull_request": pull_request})
    except ValidationError as error:
        raise invalid_input(error) from None
    return wanted.model_dump(mode="json")


def _pull_request(number: int | None, repository: Repository | None) -> dict[str, object] | None:
    """Return the reviewed pull request, with the place of the root in its repository."""
    if number is None:
        return None
    return {"number": number, "folder": "" if repository is None else repository.folder}


def resolve_panel(
    name: str, model: str | None, panels_file: Path | None, *, known_agents: frozenset[str]
) -> Panel:
    """Return the panel with an agent in every seat.

    Raises InvalidInput; UnknownAgent if `known_agents` is not empty and lacks one of the agents.
    """
    panel = find_panel(name, panels_file).with_model(model)
    for agent in panel.agents:
        if known_agents and agent not in known_agents:
            raise UnknownAgent(agent, known=known_agents, field=f"panel {panel.name}")
    return panel


def _find_root(paths: Sequence[str | Path]) -> tuple[Path, tuple[str, ...]]:
    """Return the root of some paths, and the paths below it."""
    here = Path.cwd()
    places = [here / path for path in paths] or [here]
    for path, place in zip(paths, places, strict=False):
        if not place.exists():
            raise InvalidInput("path", str(path), "must be an existing file or folder")
    whole = [Path(os.path.normpath(place)) for place in places]
    shared = Path(os.path.commonpath([place if place.is_dir() else place.parent for place in whole]))
    if not shared.is_relative_to(here) or _work_tree(shared) != _work_tree(here):
        here = shared
    below = tuple(place.relative_to(here).as_posix() for place in whole)
    return here, () if "." in below else below


def _checked_name(name: str | None) -> str | None:
    """Return the valid name of the root; None: no name was given."""
    if name is None:
        return None
    if not name.strip() or not name.isprintable() or len(name) > _MOST_CHARACTERS:
        raise InvalidInput("root_name", name, f"must be 1 to {_MOST_CHARACTERS} printable characters")
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
        found = "" if repository is None else repository.branch()
        return found if found.isprintable() and len(found) <= _MOST_BRANCH_CHARACTERS else ""
    if not name.strip() or not name.isprintable() or len(name) > _MOST_BRANCH_CHARACTERS:
        rule = f"must be 1 to {_MOST_BRANCH_CHARACTERS} printable characters"
        raise InvalidInput("branch", name, rule)
    return name


def _identity(root: Path) -> str:
    """Return the identity of a folder, because its name may not be unique; it does not reveal the path."""
    return f"{root.name}-{hashlib.sha256(bytes(root.resolve())).hexdigest()[:16]}"


def _work_tree(folder: Path) -> Path | None:
    git = Git.find(folder)
    return None if git is None else git.work_tree


def last_revision(
    repository: Repository | None, *, root: str, panel: str, scope: str, archive: Archive | None
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
    revision = archive.review_reader.last_revision(root, panel, scope)
    return revision if revision and repository is not None and repository.has_commit(revision) else None


#: The default panel.
DEFAULT_PANEL = "document"
_MOST = SourceLimits().items


class HowToReviewSessions(TypedDict, total=False):
    """Options of a review of archived sessions; every key is optional."""

    #: Name of the panel (default `document`).
    panel: str
    #: Agent for the model reviewers of the panel; None: no model is called.
    model: str | None
    #: Only sessions with this tag.
    tag: str | None
    #: Only sessions in which this participant took part.
    participant: str | None
    #: Maximum number of sessions, the newest first; None: 5,000.
    newest: int | None
    #: True: include items that have not changed since this panel reviewed them last.
    everything: bool
    #: A file of panels; default: `panels.toml` in the working folder, if it exists.
    panels_file: Path | None
    #: Deliveries of the report, by their names in the deliveries file of the workers.
    deliver: Sequence[str]


def request_for_sessions(
    ids: Sequence[str] = (),
    *,
    archive: Archive | None,
    known_agents: frozenset[str] = frozenset(),
    **how: Unpack[HowToReviewSessions],
) -> ReviewRequest:
    """Return the request to review archived sessions: those with these ids, or all ended ones, newest first.

    Sessions of reviews are reviewed only if their ids are given.

    Raises:
        InvalidInput: The archive is disabled, the panel does not exist, or an agent of it is unknown.
        SessionNotFound: A given id is not in the archive.
        ArchiveUnavailable: The archive does not answer.
    """
    from ..archive.results import SessionFilter

    if archive is None:
        raise InvalidInput("sessions", None, "require the archive, which is disabled (SYMPOSIA_ARCHIVE)")
    panel = resolve_panel(
        how.get("panel", DEFAULT_PANEL), how.get("model"), how.get("panels_file"), known_agents=known_agents
    )
    reader = archive.open_reader()
    for session_id in ids:
        if reader is None:
            raise SessionNotFound(session_id)
        reader.session(session_id)
    wanted = SessionFilter(tag=how.get("tag"), participant=how.get("participant"))
    caps = SourceLimits(items=how.get("newest") or _MOST)
    return ReviewRequest(
        root_name=SESSIONS_NAME,
        panel=panel,
        source=SessionSource(reader, ids, wanted, caps),
        everything=how.get("everything", False),
        then=_deliveries(how.get("deliver", ())),
    )

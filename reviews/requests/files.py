"""Requests to review files or archived sessions."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, TypedDict, Unpack

from pydantic import JsonValue, ValidationError

from ...models.errors import GitFailed, InvalidInput, SessionNotFound, invalid_input
from ..batches.request import ReviewRequest
from ..panels import project_settings, resolve_panel
from ..sources.archived_sessions import SessionSource
from ..sources.document_facts import source_of
from ..sources.files import FileSelection
from ..sources.repository import Repository
from ..sources.source import SourceLimits
from ..values.changes import ChangeDescription, LinkedIssue
from ..values.panels import Panel
from ..values.runs import DeliveryRequest
from .roots import (
    LAST,
    SESSIONS_NAME,
    checked_branch,
    checked_name,
    find_root,
    last_revision,
    origin_of,
    root_identity,
    scope_of,
)

if TYPE_CHECKING:
    from ...archive.archive import Archive


def delivery_options(names: Sequence[str], pull_request: int | None = None) -> dict[str, JsonValue]:
    """Return the options of the deliveries at the end; empty without any.

    `pull_request`: number of the reviewed pull request; None: the run reviews none.
    """
    if not names:
        return {}
    pull = None if pull_request is None else {"number": pull_request}
    try:
        wanted = DeliveryRequest.model_validate({"deliver": tuple(names), "pull_request": pull})
    except ValidationError as error:
        raise invalid_input(error) from None
    return wanted.model_dump(mode="json")


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
    #: Its title and description, which models are shown with the changes; empty if they are not known.
    pull_request_text: tuple[str, str]
    #: The issues that it closes.
    linked_issues: Sequence[LinkedIssue]


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
    repository = Repository.find(root)
    chosen = FileSelection(
        paths=chosen_paths,
        include=tuple(how.get("include", ())),
        exclude=tuple(how.get("exclude", ())),
        since=how.get("since"),
        base=how.get("base"),
    )
    order = request_for_root(
        root,
        panel,
        chosen,
        name=given or root.name or "root",
        identity=given or root_identity(root),
        branch=checked_branch(how.get("branch"), repository),
        archive=archive,
        config=how.get("config"),
    )
    title, description = how.get("pull_request_text", ("", ""))
    if order.change is not None:
        issues = tuple(how.get("linked_issues", ()))
        text = {"title": title, "description": description, "issues": issues}
        order = replace(order, change=order.change.model_copy(update=text))
    return replace(
        order,
        everything=how.get("everything", False),
        against="" if (against := how.get("against", LAST)) == LAST else checked_branch(against, None),
        **origin_of(repository, how.get("repository_url")),
        then=delivery_options(how.get("deliver", ()), how.get("pull_request")),
    )


def request_for_root(
    root: Path,
    panel: Panel,
    chosen: FileSelection,
    *,
    name: str,
    identity: str = "",
    branch: str,
    archive: Archive | None,
    config: Sequence[str | Path] | None = None,
) -> ReviewRequest:
    """Return the request to review files of a root: name, identity, branch and settings as in `ReviewRequest`.

    Raises:
        InvalidInput: `chosen.since` is `last`, and there is no archive, or a file of `config` has no settings.
        ArchiveUnavailable: The archive is needed for `last`, and does not answer.
    """
    scope = scope_of(chosen, panel, branch=branch) if chosen.since in (None, LAST) else ""
    if chosen.since == LAST:
        since = last_revision(root, identity=identity or name, panel=panel.name, scope=scope, archive=archive)
        chosen = replace(chosen, since=since)
    return ReviewRequest(
        root_name=name,
        root=identity,
        panel=panel,
        source=source_of(root, chosen, panel),
        settings=project_settings(panel, root, config),
        folder=root,
        change=_change(root, chosen),
        is_whole=not (chosen.paths or chosen.include or chosen.exclude or chosen.since or chosen.base),
        branch=branch,
        scope=scope,
    )


def _change(root: Path, chosen: FileSelection) -> ChangeDescription | None:
    """Return what the commits of a selection say; None: whole files are selected."""
    if not (chosen.since or chosen.base):
        return None
    commits: tuple[str, ...] = ()
    with suppress(InvalidInput, GitFailed):  # the source reports it
        if (repository := Repository.find(root)) is not None:
            since = (
                repository.resolve_commit(chosen.since, field="since")
                if chosen.since
                else repository.fork_point(chosen.base or "")
            )
            commits = repository.commit_messages(since)
    return ChangeDescription(commits=commits)


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
    from ...archive.results import SessionFilter

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
        then=delivery_options(how.get("deliver", ())),
    )

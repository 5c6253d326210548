"""From what a person asks to an order: which files below which root, which panel, with or without a model."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, TypedDict, Unpack

from ..models.errors import InvalidInput, UnknownAgent
from ..models.review.panels import Panel
from .panels import find_panel
from .sources.files import Chosen, FileSource
from .sources.git import Git
from .sources.repository import Repository
from .starting import Order

if TYPE_CHECKING:
    from ..archive.archive import Archive

#: In the place of a revision: that of the newest run that completed.
LAST = "last"
#: What the archive is called as a root.
SESSIONS_NAME = "archived sessions"
#: Characters that the name of a root may have.
_MOST_CHARACTERS = 100


class HowToReview(TypedDict, total=False):
    """How files are to be reviewed; every key may be left out."""

    #: The panel's name; `code` unless told.
    panel: str
    #: The agent that sits in the panel's seats for a model; None: no model is asked anything.
    model: str | None
    #: Only what has changed since this git revision; `last`: since the newest run that completed.
    since: str | None
    #: Only what has changed since the checked-out branch left this one.
    base: str | None
    #: Only files that one of these patterns fits.
    include: Sequence[str]
    exclude: Sequence[str]
    #: Also what has not changed since this panel reviewed it last.
    everything: bool
    #: What the root is called in runs and reports, and known again by wherever it is; None: the folder's name, at its place.
    root_name: str | None
    #: A file of panels; `panels.toml` in the working folder, where there is one.
    panels_file: Path | None


def order_of_files(
    paths: Sequence[str | Path],
    *,
    archive: Archive | None = None,
    known_agents: frozenset[str] = frozenset(),
    **how: Unpack[HowToReview],
) -> Order:
    """The order to review files on this machine; no path: the working folder.

    The root is the working folder when all paths are in it and in its repository, else the folder that they share. `known_agents` are
    the names that workers announced; empty when no worker was heard of.

    Raises:
        InvalidInput: a path, a revision or a panel is not there, the root cannot be called so, or nobody knows an agent of the panel.
        ArchiveUnavailable: `last` was asked for.
    """
    panel = seated_panel(
        how.get("panel", "code"), how.get("model"), how.get("panels_file"), known_agents=known_agents
    )
    root, chosen_paths = _rooted(paths)
    given = _checked_name(how.get("root_name"))
    known_by = given or _identity(root)
    since, repository = how.get("since"), Repository.around(root)
    if since == LAST:
        since = last_revision(repository, root=known_by, panel=panel.name, archive=archive)
    chosen = Chosen(
        paths=chosen_paths,
        include=tuple(how.get("include", ())),
        exclude=tuple(how.get("exclude", ())),
        since=since,
        base=how.get("base"),
    )
    is_whole = not (chosen.paths or chosen.include or chosen.exclude or chosen.since or chosen.base)
    return Order(
        root_name=given or root.name or "root",
        root=known_by,
        panel=panel,
        source=FileSource(root, chosen),
        everything=how.get("everything", False),
        is_whole=is_whole,
        revision="" if repository is None else repository.head(),
    )


def seated_panel(
    name: str, model: str | None, panels_file: Path | None, *, known_agents: frozenset[str]
) -> Panel:
    """The panel with everybody seated. Raises InvalidInput; UnknownAgent: `known_agents`, unless empty, lacks one of it."""
    panel = find_panel(name, panels_file).seated(model)
    for agent in panel.agents:
        if known_agents and agent not in known_agents:
            raise UnknownAgent(agent, known=known_agents, field=f"panel {panel.name}")
    return panel


def _rooted(paths: Sequence[str | Path]) -> tuple[Path, tuple[str, ...]]:
    """The root of some paths, and the paths below it."""
    here = Path.cwd()
    places = [here / path for path in paths] or [here]
    for path, place in zip(paths, places, strict=False):
        if not place.exists():
            raise InvalidInput("path", str(path), "must be a file or a folder")
    whole = [Path(os.path.normpath(place)) for place in places]
    shared = Path(os.path.commonpath([place if place.is_dir() else place.parent for place in whole]))
    if not shared.is_relative_to(here) or _work_tree(shared) != _work_tree(here):
        here = shared
    below = tuple(place.relative_to(here).as_posix() for place in whole)
    return here, () if "." in below else below


def _checked_name(name: str | None) -> str | None:
    """The name that a root was given; None: none was."""
    if name is None:
        return None
    if not name.strip() or not name.isprintable() or len(name) > _MOST_CHARACTERS:
        raise InvalidInput("root_name", name, f"must be 1 to {_MOST_CHARACTERS} printable characters")
    if name == SESSIONS_NAME:
        raise InvalidInput("root_name", name, "must be another: the archive is called so")
    return name


def _identity(root: Path) -> str:
    """What a folder is known again by: there may be others of its name. Its place itself is nobody's business."""
    return f"{root.name}-{hashlib.sha256(bytes(root.resolve())).hexdigest()[:16]}"


def _work_tree(folder: Path) -> Path | None:
    git = Git.around(folder)
    return None if git is None else git.work_tree


def last_revision(
    repository: Repository | None, *, root: str, panel: str, archive: Archive | None
) -> str | None:
    """The revision of the newest run that completed; None: there is none, or its history was rewritten since.

    Raises:
        InvalidInput: no archive is kept, which would know it.
        ArchiveUnavailable: it does not answer.
    """
    if archive is None:
        raise InvalidInput("since", LAST, "must be a revision: no archive is kept (SYMPOSIA_ARCHIVE)")
    archive.prepare()
    revision = archive.review_reader.last_revision(root, panel)
    return revision if revision and repository is not None and repository.has(revision) else None

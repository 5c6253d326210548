"""The project of the working folder, and the data folder of its embedded installation.

Without a configured Redis, each project has an installation of its own: two projects of a user share no server,
so no worker of one takes turns of the other.
"""

from __future__ import annotations

import hashlib
import os
import re
import sys
from pathlib import Path

from ..models.text.paths import is_of_other_user

#: Files that make a folder a project.
SETTINGS_FILE, AGENTS_FILE = "symposia.toml", "agents.toml"
#: Folder of the installations of projects, in the data folder of the user.
_PROJECTS = "projects"
#: File in the data folder of a project with the path of the project.
_RECORD = "project"
#: Characters of a project's name in that of its folder, which stays short enough for the path of a Unix socket.
_NAME_CHARS, _HASH_CHARS = 24, 10


def project_folder() -> Path:
    """Return the nearest folder, from the working folder upwards, with a settings or agents file, else the working folder.

    Above the working folder, files of other users do not count: they could name code to run.
    """
    try:
        here = Path.cwd()
    except OSError:  # the working folder was deleted
        return Path("/")
    return next((folder for folder in (here, *here.parents) if _is_project(folder, here)), here)


def _is_project(folder: Path, here: Path) -> bool:
    for file in (folder / SETTINGS_FILE, folder / AGENTS_FILE):
        try:
            if file.is_file() and (folder == here or not is_of_other_user(file)):
                return True
        except OSError:  # a folder that this user may not read
            continue
    return False


def user_data_dir() -> Path:
    """Return the data folder of the user: of a configured Redis, and of the installation that projects may share."""
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Application Support" / "symposia"
    base = os.environ.get("XDG_DATA_HOME", "")
    return (Path(base) if Path(base).is_absolute() else Path.home() / ".local" / "share") / "symposia"


def project_data_dir(folder: Path) -> Path:
    """Return the data folder of a project: a readable name, and a hash that separates projects of the same name."""
    name = re.sub(r"[^A-Za-z0-9._-]+", "-", folder.name)[:_NAME_CHARS].strip("-.") or "project"
    digest = hashlib.sha256(os.fsencode(folder)).hexdigest()[:_HASH_CHARS]
    return user_data_dir() / _PROJECTS / f"{name}-{digest}"


def is_default_data_dir(folder: Path) -> bool:
    """Return whether a data folder belongs to Symposia alone, because nobody has chosen it."""
    return folder == user_data_dir() or folder.parent == user_data_dir() / _PROJECTS


def describe_owner(data_dir: Path) -> str:
    """Return whose installation is in a data folder: the folder of the project, else the data folder itself."""
    folder = project_folder()
    return str(folder if data_dir == project_data_dir(folder) else data_dir)


def unread_agents_file() -> Path | None:
    """Return the agents file of the project if the working folder is below it: workers that start here do not read it."""
    folder = project_folder()
    file = folder / AGENTS_FILE
    try:
        return None if folder == Path.cwd() or not file.is_file() else file
    except OSError:  # the working folder was deleted
        return None


def record_project(data_dir: Path) -> None:
    """Write the path of the project into its data folder, if it is one of a project, for `list_moved_projects`.

    Raises:
        OSError: It cannot be written.
    """
    if data_dir.parent == user_data_dir() / _PROJECTS:
        (data_dir / _RECORD).write_text(f"{project_folder()}\n", encoding="utf-8")


def list_moved_projects() -> list[tuple[str, Path]]:
    """Return projects whose folder does not exist any more, with their data folders."""
    moved = []
    for record in sorted((user_data_dir() / _PROJECTS).glob(f"*/{_RECORD}")):
        folder = record.read_text(encoding="utf-8").strip()
        if not Path(folder).is_dir():
            moved.append((folder, record.parent))
    return moved


def unused_shared_data(data_dir: Path) -> Path | None:
    """Return the data folder of the installation that projects may share, if it has sessions that this one lacks.

    Up to release 0.1, all projects of a user shared one installation.
    """
    shared = user_data_dir()
    has_data = (shared / "valkey" / "server.json").exists() or (shared / "archive.sqlite3").exists()
    return shared if has_data and data_dir.parent == shared / _PROJECTS else None


def describe_shared_data(data_dir: Path) -> str | None:
    """Return one line if a project has no installation yet, and the shared one has sessions; None otherwise."""
    shared = unused_shared_data(data_dir)
    if shared is None or data_dir.exists():
        return None
    return (
        f"this project has an installation of its own now; sessions of the installation that projects shared are in "
        f"{shared}: use them with --shared, such as `symposia up --shared` (or shared = true in {SETTINGS_FILE})"
    )

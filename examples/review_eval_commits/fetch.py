"""Write a data set of the changes of real commits: python fetch.py commits.toml DATASET

For each commit, the files that it changes are written below `before` and `after`, in a folder of the project and commit.
Half of the files are held back, by the seed. Then: symposia review eval DATASET --model house
"""

from __future__ import annotations

import json
import subprocess
import sys
import tomllib
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

#: Maximum files of a commit, and bytes of a file.
MAX_FILES, MAX_BYTES = 20, 262_144
TIMEOUT_S = 600


def git(folder: Path, *arguments: str) -> bytes:
    """Return the output of git."""
    command = ["git", *arguments]
    return subprocess.run(command, cwd=folder, check=True, capture_output=True, timeout=TIMEOUT_S).stdout


def write_commit(entry: dict[str, Any], target: Path) -> list[dict[str, Any]]:
    """Write the files of a commit, and return their entries in the data set."""
    commit: str = entry["commit"]
    name = f"{entry['repository'].rstrip('/').rpartition('/')[2]}-{commit[:8]}"
    with TemporaryDirectory() as temporary:
        folder = Path(temporary)
        git(folder, "init", "-q")
        git(folder, "fetch", "-q", "--depth=2", "--filter=blob:none", entry["repository"], entry["commit"])
        listed = git(folder, "diff", "--name-only", "--no-renames", "-z", "FETCH_HEAD~", "FETCH_HEAD")
        paths = [path for path in listed.decode().split("\0") if path]
        kept = []
        for path in paths[:MAX_FILES]:
            written = [
                write_file(folder, revision, path, target / side / name)
                for side, revision in (("before", "FETCH_HEAD~"), ("after", "FETCH_HEAD"))
            ]
            if any(written):
                kept.append(path)
    for side in ("before", "after"):
        note = target / side / name / "LICENCE-NOTE"
        note.parent.mkdir(parents=True, exist_ok=True)
        note.write_text(f"{entry['repository']} {entry['commit']}: {entry['licence']}\n")
    defects = entry.get("defects", [])
    own = ("kind", "quote", "line", "lines", "side")
    return [
        {
            "path": f"{name}/{path}",
            "defects": [{key: it[key] for key in own if key in it} for it in defects if it["path"] == path],
        }
        for path in kept
    ]


def write_file(folder: Path, revision: str, path: str, target: Path) -> bool:
    """Write a text file of a revision; return whether there is one."""
    try:
        data = git(folder, "show", f"{revision}:{path}")
        data.decode()
    except (subprocess.CalledProcessError, UnicodeDecodeError):
        return False
    if len(data) > MAX_BYTES or b"\0" in data:
        return False
    (target / path).parent.mkdir(parents=True, exist_ok=True)
    (target / path).write_bytes(data)
    return True


def to_toml(value: Any) -> str:
    """Return a value in TOML."""
    if isinstance(value, dict):
        return f"{{ {', '.join(f'{key} = {to_toml(entry)}' for key, entry in value.items())} }}"
    if isinstance(value, list):
        return f"[{', '.join(map(to_toml, value))}]"
    return json.dumps(value, ensure_ascii=False)


def main() -> None:
    """Fetch the commits of a file."""
    source, target = Path(sys.argv[1]), Path(sys.argv[2])
    given = tomllib.loads(source.read_text())
    files = [file for entry in given.get("commits", []) for file in write_commit(entry, target)]
    lines = ['name = "commits"', 'folder = "after"', 'before = "before"', f"seed = {given.get('seed', 0)}"]
    lines += [f"{key} = {to_toml(given[key])}" for key in ("kinds", "categories")]
    for file in files:
        lines += ["", "[[files]]", *(f"{key} = {to_toml(value)}" for key, value in file.items())]
    target.mkdir(parents=True, exist_ok=True)
    (target / "dataset.toml").write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()

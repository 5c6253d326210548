"""Looks up every pinned package in a database of known vulnerabilities that lies on this machine.

    python .ci/audit.py constraints.txt [DATABASE]

DATABASE is the export of OSV (https://osv.dev) for the ecosystem PyPI: a ZIP of one JSON document an advisory.
Without one there is nothing to look into: that is said, and is no failure. Exits with 1 when a pin is affected.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from zipfile import BadZipFile, ZipFile

from packaging.utils import canonicalize_name
from packaging.version import InvalidVersion, Version


def pins(path: Path) -> dict[str, Version]:
    """Name -> version of every `name==version` of a constraints file."""
    lines = (line.partition("#")[0].strip() for line in path.read_text().splitlines())
    pairs = (line.split("==") for line in lines if line)
    return {canonicalize_name(name): Version(version) for name, version in pairs}


def advisories(database: Path) -> Iterator[dict[str, Any]]:
    """Every advisory that was not withdrawn."""
    with ZipFile(database) as archive:
        for name in archive.namelist():
            advisory = json.loads(archive.read(name))
            if "withdrawn" not in advisory:
                yield advisory


def is_affected(version: Version, affected: dict[str, Any]) -> bool:
    """Whether one entry of an advisory's `affected` means this version."""
    if str(version) in affected.get("versions", ()):
        return True
    ranges = (
        version_range for version_range in affected.get("ranges", ()) if version_range["type"] == "ECOSYSTEM"
    )
    return any(_within(version, version_range["events"]) for version_range in ranges)


def _within(version: Version, events: list[dict[str, str]]) -> bool:
    inside = False
    for event in events:
        kind, at = next(iter(event.items()))
        try:
            bound = Version("0") if at == "0" else Version(at)
        except InvalidVersion:
            continue
        if kind == "introduced" and version >= bound:
            inside = True
        elif (kind == "fixed" and version >= bound) or (kind == "last_affected" and version > bound):
            inside = False
    return inside


def findings(pinned: dict[str, Version], database: Path) -> Iterator[str]:
    """A line for every pin that an advisory means."""
    for advisory in advisories(database):
        for affected in advisory.get("affected", ()):
            package = affected.get("package", {})
            name = canonicalize_name(package.get("name", ""))
            if package.get("ecosystem") == "PyPI" and name in pinned and is_affected(pinned[name], affected):
                yield f"{name} {pinned[name]}: {advisory['id']}: {advisory.get('summary', '')}"


def main(constraints: str, database: str = "") -> int:
    """Prints what was found; answers the exit code."""
    pinned = pins(Path(constraints))
    if not database:
        print(
            f"audit: skipped, no database of vulnerabilities is at hand for {len(pinned)} pins (make audit DATABASE=...)"
        )
        return 0
    try:
        problems = sorted(set(findings(pinned, Path(database))))
    except (OSError, BadZipFile, ValueError) as error:
        print(f"audit: {database} cannot be read: {error}", file=sys.stderr)
        return 2
    print("\n".join(problems) or f"audit: nothing is known against {len(pinned)} pins")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:3]))

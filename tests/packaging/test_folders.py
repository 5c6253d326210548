"""The folders of tests follow the packages that they test."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

ROOT = Path(__file__).parents[2]
#: Tests of the whole system.
WHOLE_SYSTEM = {
    "cluster",
    "documents",
    "faults",
    "fuzz",
    "limits",
    "packaging",
    "security",
    "sessions",
    "steering",
    "upgrades",
}
MAX_FILES = 24


def test_folders_mirror_the_packages() -> None:
    folders = {file.parent.relative_to(ROOT / "tests") for file in ROOT.glob("tests/**/test_*.py")}
    packages = {it for it in folders if it.parts[0] not in WHOLE_SYSTEM}
    # A folder may hold the tests of a part of a package.
    parts = {it for it in packages if len(it.parts) > 1 and (ROOT / it.parent / "__init__.py").exists()}
    assert {it for it in packages - parts if not (ROOT / it).is_dir()} == set()


def test_folders_are_short() -> None:
    files = Counter(file.parent for file in ROOT.glob("tests/**/*.py"))
    assert {str(folder): count for folder, count in files.items() if count > MAX_FILES} == {}

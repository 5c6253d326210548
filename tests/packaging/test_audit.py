"""The audit of pinned packages finds the entries of its database and reports a missing one."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any
from zipfile import ZipFile

import pytest

from scaling import patient

ROOT = Path(__file__).parents[2]


def audit(
    folder: Path, *database: str, pins: str = "# pins\nsome-package==1.5.0\nother==2.0\n"
) -> tuple[int, str]:
    (folder / "constraints.txt").write_text(pins)
    command = [sys.executable, ROOT / ".ci" / "audit.py", folder / "constraints.txt", *database]
    done = subprocess.run(command, capture_output=True, text=True, timeout=patient(50), check=False)
    return done.returncode, done.stdout + done.stderr


def database(folder: Path, **affected: Any) -> str:
    """A database of one advisory."""
    entry = {"package": {"ecosystem": "PyPI", "name": "Some_Package"}, **affected.pop("entry", {})}
    advisory = {"id": "X-1", "summary": "Bad things", "affected": [entry], **affected}
    with ZipFile(folder / "all.zip", "w") as archive:
        archive.writestr("X-1.json", json.dumps(advisory))
    return str(folder / "all.zip")


def within(*events: dict[str, str]) -> dict[str, Any]:
    return {"ranges": [{"type": "ECOSYSTEM", "events": list(events)}]}


@pytest.mark.parametrize(
    ("entry", "is_found"),
    [
        ({"versions": ["1.5.0"]}, True),
        ({"versions": ["1.4"]}, False),
        (within({"introduced": "0"}), True),
        (within({"introduced": "1.0"}, {"fixed": "1.5.0"}), False),
        (within({"introduced": "1.0"}, {"fixed": "1.10"}), True),
        (within({"introduced": "1.0"}, {"last_affected": "1.5"}), True),
        (within({"introduced": "1.0"}, {"fixed": "1.2"}, {"introduced": "1.4"}), True),
        (within({"introduced": "2.0"}), False),
    ],
)
def test_pin_is_found_by_name_and_version(tmp_path: Path, entry: dict[str, Any], is_found: bool) -> None:
    code, said = audit(tmp_path, database(tmp_path, entry=entry))
    assert (code == 1) is is_found
    assert ("some-package 1.5.0: X-1: Bad things" in said) is is_found


def test_withdrawn_advisory_is_ignored(tmp_path: Path) -> None:
    code, said = audit(
        tmp_path, database(tmp_path, entry={"versions": ["1.5.0"]}, withdrawn="2026-01-01T00:00:00Z")
    )
    assert (code, said) == (0, "audit: nothing is known against 2 pins\n")


def test_audit_without_a_database_is_skipped(tmp_path: Path) -> None:
    code, said = audit(tmp_path)
    assert code == 0
    assert "skipped, no database of vulnerabilities is at hand" in said


def test_unreadable_database_fails_the_audit(tmp_path: Path) -> None:
    (tmp_path / "all.zip").write_text("no zip")
    code, said = audit(tmp_path, str(tmp_path / "all.zip"))
    assert code == 2
    assert "cannot be read" in said


def test_the_pins_of_this_project_can_be_read(tmp_path: Path) -> None:
    pins = (ROOT / "constraints.txt").read_text()
    assert audit(tmp_path, database(tmp_path), pins=pins)[0] == 0

"""Delivery to a folder: each run gets a folder of its own, complete or not at all."""

from __future__ import annotations

import shutil
import time
from pathlib import Path

from ...models.errors import DeliveryFailed
from ...models.text.ids import new_id
from .entries import FolderEntry
from .payload import ReportPayload, plain_name, summary_json, summary_text

_TEMP_PREFIX = ".begun-"
#: Seconds after which a temporary file is abandoned.
_ABANDONED_S = 3_600


def write_to_folder(entry: FolderEntry, parcel: ReportPayload) -> Path:
    """Write the reports, a summary, and the run as JSON; an existing run does not change.

    Raises:
        DeliveryFailed: the folder cannot be written to.
    """
    series, name = _series(parcel), _name(parcel)
    target = entry.folder / series / name
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        if not target.is_dir():
            _write_whole(target, parcel)
        _delete_old(target.parent, keep=entry.keep)
    except OSError as error:
        raise DeliveryFailed(f"writing to {entry.folder} failed: {error.strerror}") from None
    return target


def _write_whole(target: Path, parcel: ReportPayload) -> None:
    """Write to a temporary file and rename it, so that readers never see half of it. Raises OSError."""
    begun = target.with_name(f"{_TEMP_PREFIX}{new_id()}")
    begun.mkdir()
    try:
        (begun / "run.json").write_bytes(summary_json(parcel.run))
        (begun / "summary.txt").write_text(summary_text(parcel.run), encoding="utf-8")
        for report in parcel.reports:
            (begun / plain_name(report.name)).write_text(report.text, encoding="utf-8")
        try:
            begun.rename(target)
        except OSError:
            if not target.is_dir():  # no other worker was faster, with the same run
                raise
    finally:
        shutil.rmtree(begun, ignore_errors=True)


def _delete_old(folder: Path, *, keep: int) -> None:
    """Delete runs above the kept number, by their names, which begin with the time; and the files of dead workers."""
    folders = sorted(it for it in folder.iterdir() if it.is_dir())
    begun = [it for it in folders if it.name.startswith(_TEMP_PREFIX)]
    left_behind = [it for it in begun if it.stat().st_mtime < time.time() - _ABANDONED_S]
    for old in (*[it for it in folders if it not in begun][:-keep], *left_behind):
        shutil.rmtree(old, ignore_errors=True)


def _series(parcel: ReportPayload) -> str:
    return f"{plain_name(parcel.run.root_name)}-{plain_name(parcel.run.panel)}"


def _name(parcel: ReportPayload) -> str:
    return f"{parcel.run.started_at:%Y%m%dT%H%M%SZ}-{parcel.run.id[:8]}"

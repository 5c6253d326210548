"""Attachments of messages below one folder."""

from pathlib import Path

FOLDER = Path("/srv/attachments")
MAX_BYTES = 1_000_000


def path_of(name):
    """Return the path of an attachment. Raises ValueError if it is not below the folder."""
    path = (FOLDER / name).resolve()
    if not path.is_relative_to(FOLDER.resolve()):
        raise ValueError(f"{name!r}: must be below {FOLDER}")
    return path


def read_attachment(name):
    with path_of(name).open("rb") as file:
        data = file.read(MAX_BYTES + 1)
    if len(data) > MAX_BYTES:
        raise ValueError(f"{name!r}: must be at most {MAX_BYTES} bytes")
    return data

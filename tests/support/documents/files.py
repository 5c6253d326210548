"""Files of a working folder."""

from __future__ import annotations

from pathlib import Path


def write_files(folder: Path, files: dict[str, str]) -> None:
    """Write files by their paths; those of `bin` are programs."""
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        path.chmod(0o700)

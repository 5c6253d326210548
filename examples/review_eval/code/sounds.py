"""Conversion of sounds by an installed program."""

import shutil
import subprocess
from pathlib import Path

FORMATS = frozenset({"flac", "ogg", "wav"})


def convert_sound(source, to):
    if to not in FORMATS:
        raise ValueError(f"to: must be one of {', '.join(sorted(FORMATS))}, not {to!r}")
    program = shutil.which("ffmpeg")
    if program is None:
        raise FileNotFoundError("ffmpeg is not installed")
    path = Path(source).resolve()
    target = path.with_suffix(f".{to}")
    subprocess.run([program, "-nostdin", "-i", str(path), str(target)], check=True, timeout=300)
    return target

"""Thumbnails of uploaded pictures."""

import os
import subprocess
from pathlib import Path

SIZES = {"small": 64, "large": 512}


def make_thumbnail(upload, size):
    target = Path(upload).with_suffix(f".{size}.png")
    subprocess.run(f"convert {upload} -resize {SIZES[size]} {target}", shell=True, check=True)
    return target


def remove_upload(name):
    os.system("rm -f /srv/uploads/" + name)


def picture_size(path):
    done = subprocess.run(["identify", "-format", "%w %h", "--", path], capture_output=True, text=True, check=True)
    width, height = done.stdout.split()
    return int(width), int(height)

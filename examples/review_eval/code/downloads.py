"""Files that users may download, and archives that they upload."""

import zipfile
from pathlib import Path

FOLDER = Path("/srv/files")
MAX_BYTES = 10_000_000


def read_file(request):
    name = request.query["name"]
    path = FOLDER / name
    if path.stat().st_size > MAX_BYTES:
        raise ValueError(f"{name}: larger than {MAX_BYTES} bytes")
    return path.read_bytes()


def unpack(upload, user_id):
    target = FOLDER / str(int(user_id))
    target.mkdir(exist_ok=True)
    with zipfile.ZipFile(upload) as archive:
        for entry in archive.infolist():
            if not entry.is_dir() and entry.file_size <= MAX_BYTES:
                (target / entry.filename).write_bytes(archive.read(entry))


def list_files(user_id):
    return sorted(path.name for path in (FOLDER / str(int(user_id))).iterdir())

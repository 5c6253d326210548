"""The page to talk, at `/`: session files to start, dialogs as they grow, questions to answer.

It is the same for each caller and holds no data: its script reads them from the API, with the caller's token.
"""

from __future__ import annotations

from pathlib import Path

from fastapi import APIRouter
from fastapi.responses import FileResponse
from starlette.exceptions import HTTPException

router = APIRouter(include_in_schema=False)

_FOLDER = Path(__file__).with_name("static")
#: Files of the page and their media types. No other file is served.
_FILES = {
    "api.js": "text/javascript",
    "forms.js": "text/javascript",
    "icon.svg": "image/svg+xml",
    "nodes.js": "text/javascript",
    "session.js": "text/javascript",
    "talk.css": "text/css",
    "talk.js": "text/javascript",
}
_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
_HEADERS = {
    "Cache-Control": "no-cache",
    "Content-Security-Policy": _POLICY,
    "Cross-Origin-Opener-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
}


@router.get("/")
async def get_page() -> FileResponse:
    """Return the page."""
    return FileResponse(_FOLDER / "index.html", media_type="text/html", headers=_HEADERS)


@router.get("/static/{file}")
async def get_file(file: str) -> FileResponse:
    """Return a file of the page."""
    if file not in _FILES:
        raise HTTPException(404, "there is no such file")
    return FileResponse(_FOLDER / file, media_type=_FILES[file], headers=_HEADERS)

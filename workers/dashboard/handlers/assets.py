"""Static files of the dashboard."""

from __future__ import annotations

from pathlib import Path

from tornado.web import StaticFileHandler

STATIC_PATH = Path(__file__).parents[1] / "static"


class AssetHandler(StaticFileHandler):
    """Scripts and styles. A browser asks whether they have changed, because modules import each other by name."""

    def set_extra_headers(self, path: str) -> None:  # noqa: ARG002 - the same for all files
        """Set the headers of every file."""
        self.set_header("Cache-Control", "no-cache")
        self.set_header("X-Content-Type-Options", "nosniff")
        self.set_header("Cross-Origin-Resource-Policy", "same-origin")

"""Files of the dashboard: templates, its entries in Flower's navigation bar, and static files."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tornado.template import Loader, Template
from tornado.web import StaticFileHandler, TemplateModule

TEMPLATES_PATH = Path(__file__).parent / "templates"
STATIC_PATH = Path(__file__).parent / "static"
#: End of a list in HTML: the first one in Flower's navigation bar ends the list of pages.
_END_OF_LIST = b"</ul>"


class DashboardLoader(Loader):
    """Loader that searches the templates of the dashboard first, then those of Flower.

    Args:
        flower_path: Folder of Flower's templates.
    """

    def _create_template(self, name: str) -> Template:
        own = TEMPLATES_PATH / name
        if own.parent == TEMPLATES_PATH and own.is_file():
            return Template(own.read_bytes(), name=name, loader=self)
        return super()._create_template(name)


class NavbarTemplate(TemplateModule):
    """Tornado's `Template` module, which adds the pages of the dashboard to Flower's `navbar.html`."""

    def render(self, path: str, **values: Any) -> bytes:
        """Return the rendered template."""
        page = super().render(path, **values)
        if path != "navbar.html" or _END_OF_LIST not in page:
            return page
        entries = self.render_string("dashboard_navbar.html", active_tab=values.get("active_tab", ""))
        return page.replace(_END_OF_LIST, entries + _END_OF_LIST, 1)


class AssetHandler(StaticFileHandler):
    """Scripts and styles. A browser asks whether they have changed, because modules import each other by name."""

    def set_extra_headers(self, path: str) -> None:  # noqa: ARG002 - the same for all files
        """Set the headers of every file."""
        self.set_header("Cache-Control", "no-cache")
        self.set_header("X-Content-Type-Options", "nosniff")
        self.set_header("Cross-Origin-Resource-Policy", "same-origin")

"""Hooks of MkDocs: mkdocs.yml names this file."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from links import ROOT, rewrite_links
from llms import Entry, render_full, render_index
from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.nav import Navigation, Section
from mkdocs.structure.pages import Page
from pages import indent_nested, make_pages

#: The page whose text mkdocstrings makes; it has no Markdown of its own.
API = "api.md"
_state: dict[str, Navigation] = {}


def on_startup(**_: object) -> None:
    """Make a folder with the package alone, without .venv and tests, for the reader of docstrings."""
    package = ROOT / ".venv" / "docs" / "package" / "symposia"
    package.mkdir(parents=True, exist_ok=True)
    parts = [path.parent for path in ROOT.glob("[a-z]*/__init__.py")]
    for part in [*parts, *ROOT.glob("__init__.py*"), ROOT / "errors.py"]:
        link = package / part.name
        if not link.is_symlink():
            link.symlink_to(part)


def on_files(files: Files, config: MkDocsConfig) -> None:
    """Add the pages of files outside docs/."""
    for path, text in make_pages().items():
        files.append(File.generated(config, path, content=text))
    files.append(
        File.generated(config, API, content=(Path(__file__).parent / API).read_text(encoding="utf-8"))
    )


def on_nav(nav: Navigation, **_: object) -> None:
    """Keep the navigation for llms.txt."""
    _state["nav"] = nav


def on_page_markdown(markdown: str, page: Page, **_: object) -> str:
    """Return the text of a page with links of the site, as Python-Markdown reads it."""
    if page.file.generated_by is None:
        markdown = rewrite_links(
            markdown, str(Path("docs", page.file.src_uri).parent), page=page.file.src_uri
        )
    if page.file.src_uri.startswith("source/"):
        page.meta["search"] = {"exclude": True}
    return indent_nested(markdown)


def on_post_build(config: MkDocsConfig) -> None:
    """Write llms.txt, llms-full.txt, and the Markdown of each page next to it."""
    site, entries = Path(config.site_dir), list(_list_entries(_state["nav"]))
    texts = [entry for entry in entries if entry.path.endswith(".md")]
    for page in texts:
        (site / page.path).write_text(page.markdown, encoding="utf-8")
    index = render_index(config.site_name, config.site_description or "", entries)
    (site / "llms.txt").write_text(index, encoding="utf-8")
    (site / "llms-full.txt").write_text(render_full(texts), encoding="utf-8")


def _list_entries(nav: Navigation) -> Iterator[Entry]:
    for item in nav.items:
        pages = item.children if isinstance(item, Section) else [item]
        for page in pages:
            if isinstance(page, Page):
                path = page.file.dest_uri if page.file.src_uri == API else page.file.src_uri
                yield Entry(item.title or "", str(page.title), path, page.markdown or "")

"""The documentation site builds without a warning and without network, and shows what the repository page shows."""

from __future__ import annotations

import os
import re
import subprocess
from collections import Counter
from html.parser import HTMLParser
from pathlib import Path

import pytest
from markdown_it import MarkdownIt

from programs import find_mkdocs
from scaling import patient

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
PAGES = sorted(DOCS.glob("**/*.md"))
#: No proxy answers there.
NO_NETWORK = dict.fromkeys(("http_proxy", "https_proxy", "HTTP_PROXY", "HTTPS_PROXY"), "http://127.0.0.1:9")
COUNTED = {"h1", "h2", "h3", "h4", "img", "li", "ol", "pre", "table", "td", "th", "ul"}

#: One build serves all of these tests.
pytestmark = [pytest.mark.long, pytest.mark.timeout(300), pytest.mark.xdist_group("docs-site")]


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """The folder of the site, and what the build printed."""
    site = tmp_path_factory.mktemp("docs") / "site"
    done = subprocess.run(
        [find_mkdocs(), "build", "--strict", "--site-dir", site],
        cwd=ROOT,
        env={**os.environ, **NO_NETWORK, "NO_MKDOCS_2_WARNING": "1"},
        capture_output=True,
        text=True,
        check=False,
        timeout=patient(240),
    )
    assert done.returncode == 0, done.stderr
    return site, done.stderr


class Loaded(HTMLParser):
    """Counts elements, and collects the addresses that a browser loads with a page."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.elements: Counter[str] = Counter()
        self.addresses: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements[tag] += tag in COUNTED
        if tag in {"iframe", "img", "link", "script"}:
            self.addresses += [value for name, value in attrs if name in {"href", "src"} and value]


def article(site: Path, name: str) -> str:
    text = (site / f"{name}.html").read_text()
    return text[text.index("<article") : text.index("</article>")]


def test_build_has_no_warning(built: tuple[Path, str]) -> None:
    assert [line for line in built[1].splitlines() if not line.startswith("INFO ")] == []


def test_pages_load_nothing_from_other_hosts(built: tuple[Path, str]) -> None:
    pages = {path: Loaded(path.read_text()).addresses for path in built[0].rglob("*.html")}
    assert len(pages) > len(PAGES)
    assert [(path, it) for path, found in pages.items() for it in found if re.match(r"(\w+:)?//", it)] == []
    styles = [path.read_text() for path in built[0].rglob("*.css")]
    assert styles
    assert [it for text in styles for it in re.findall(r"url\(['\"]?(https?:[^)]*)", text)] == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_page_has_the_blocks_of_the_repository_page(page: Path, built: tuple[Path, str]) -> None:
    expected = MarkdownIt("commonmark").enable("table").render(page.read_text())
    assert (
        Loaded(article(built[0], str(page.relative_to(DOCS).with_suffix("")))).elements
        == Loaded(expected).elements
    )


def test_start_page_is_the_readme(built: tuple[Path, str]) -> None:
    text = article(built[0], "index")
    assert 'href="modes.html"' in text
    assert 'href="source/examples/index.html"' in text
    assert (built[0] / "screenshots" / "collabs-light.png").is_file()


def test_public_names_are_explained(built: tuple[Path, str]) -> None:
    text = article(built[0], "api")
    named = re.findall(r"^::: (\S+)", (ROOT / ".ci/site/api.md").read_text(), re.MULTILINE)
    assert [name for name in named if f'id="{name}"' not in text] == []
    assert 'id="symposia.Client.submit"' in text


def test_llms_txt_lists_all_pages(built: tuple[Path, str]) -> None:
    lines = re.findall(r"^- \[(.+)\]\((.+)\): \S", (built[0] / "llms.txt").read_text(), re.MULTILINE)
    assert {str(page.relative_to(DOCS)) for page in PAGES} <= {path for _, path in lines}
    assert [path for _, path in lines if not (built[0] / path).is_file()] == []
    full = (built[0] / "llms-full.txt").read_text()
    assert [path for _, path in lines if path.endswith(".md") and f"<!-- {path} -->" not in full] == []


def test_search_finds_a_command(built: tuple[Path, str]) -> None:
    index = (built[0] / "search" / "search_index.json").read_text()
    assert "symposia doctor" in index
    assert "source/examples/pair" not in index

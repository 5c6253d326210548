"""The pages of the site that are made from files outside docs/, and Markdown as Python-Markdown reads it."""

from __future__ import annotations

import re
from pathlib import PurePosixPath

from links import ROOT, ROOT_PAGES, find_page, find_targets, rewrite_links

_NESTED = re.compile(r"^( {2,3})(?=\S)")
_FENCE = re.compile(r"^ *```")
_LANGUAGES = {
    ".ipynb": "json",
    ".md": "markdown",
    ".py": "python",
    ".toml": "toml",
    ".yaml": "yaml",
    ".yml": "yaml",
}


def make_pages() -> dict[str, str]:
    """Return the Markdown of all pages outside docs/ by the source path on the site."""
    pages: dict[str, str] = {}
    waiting = [*ROOT_PAGES, *sorted(str(path.relative_to(ROOT)) for path in (ROOT / "docs").glob("**/*.md"))]
    seen = set(waiting)
    while waiting:
        source = waiting.pop()
        text = _read(source)
        folder = source if (ROOT / source).is_dir() else str(PurePosixPath(source).parent)
        page = find_page(source)
        if page is not None and not source.startswith("docs/"):
            pages[page] = rewrite_links(text, folder, page=page)
        new = find_targets(text, folder) - seen
        seen |= new
        waiting += [path for path in sorted(new) if not path.startswith("docs/")]
    return pages


def indent_nested(text: str) -> str:
    """Return a Markdown text whose blocks inside list items are indented by four spaces.

    GitHub needs two or three, Python-Markdown four.
    """
    lines, more, in_fence = [], "", False
    for line in text.splitlines():
        if not in_fence:
            nested = _NESTED.match(line)
            more = " " * (4 - len(nested.group())) if nested else ""
        if _FENCE.match(line):
            in_fence = not in_fence
        lines.append(more + line if line else line)
    return "\n".join(lines) + "\n"


def _read(source: str) -> str:
    """Return the Markdown of a file or folder of the repository."""
    path = ROOT / source
    if path.is_dir():
        return _list_folder(source)
    text = path.read_text(encoding="utf-8")
    if source in ROOT_PAGES or source.startswith("docs/") or path.name == "README.md":
        return text
    fence = "`" * (max([2, *map(len, re.findall(r"`+", text))]) + 1)
    return f"# {source}\n\n{fence} {_LANGUAGES.get(path.suffix, 'text')}\n{text.rstrip()}\n{fence}\n"


def _list_folder(source: str) -> str:
    folder = ROOT / source
    names = [path.name for path in sorted(folder.iterdir()) if not path.name.startswith(("_", "."))]
    readme = (folder / "README.md").read_text(encoding="utf-8") if "README.md" in names else f"# {source}\n"
    links = "".join(f"- [{name}]({PurePosixPath(name)})\n" for name in names if name != "README.md")
    return f"{readme}\n## Files\n\n{links}"

"""Where a file of the repository is on the documentation site, and links between such pages.

The pages in docs/ keep their place. Files outside docs/ become pages if a page links to them.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from pathlib import Path, PurePosixPath

ROOT = Path(__file__).parents[2]
#: Pages outside docs/ that the navigation lists.
ROOT_PAGES = {"README.md": "index.md", "CONTRIBUTING.md": "contributing.md", "CHANGELOG.md": "changelog.md"}
_FENCE = re.compile(r"^( *)```.*?^\1```", re.DOTALL | re.MULTILINE)
_CODE_OR_LINK = re.compile(r"(?P<code>`+[^`\n]*`+)|\]\((?P<target>[^)#\s]+)(?P<anchor>#[^)\s]*)?\)")


def find_page(path: str) -> str | None:
    """Return the page of a file or folder of the repository, relative to the root of the site.

    Args:
        path: Path relative to the root of the repository.

    Returns:
        The source path of the page; None if there is no such file or folder.
    """
    if path in ROOT_PAGES:
        return ROOT_PAGES[path]
    full_path = ROOT / path
    if full_path.is_dir():
        return f"source/{path}/index.md"
    if not full_path.is_file():
        return None
    if path.startswith("docs/"):
        return path.removeprefix("docs/")
    return f"source/{path}" if path.endswith(".md") else f"source/{path}.md"


def find_targets(text: str, folder: str) -> set[str]:
    """Return the files and folders of the repository that a Markdown text links to.

    Args:
        text: The Markdown text.
        folder: The folder of its file, relative to the root of the repository.
    """
    targets: set[str] = set()

    def add(target: str) -> str:
        targets.add(_resolve(target, folder))
        return target

    _replace_links(text, add)
    return {path for path in targets if find_page(path) is not None}


def rewrite_links(text: str, folder: str, *, page: str) -> str:
    """Return a Markdown text with links between pages of the site instead of files of the repository.

    A link to a file that does not exist stays as it is: the strict build reports it.

    Args:
        text: The Markdown text.
        folder: The folder of its file, relative to the root of the repository.
        page: Source path of its page on the site.
    """

    def rewrite(target: str) -> str:
        other = find_page(_resolve(target, folder))
        return target if other is None else os.path.relpath(other, PurePosixPath(page).parent)

    return _replace_links(text, rewrite)


def _resolve(target: str, folder: str) -> str:
    return os.path.normpath(PurePosixPath(folder) / target)


def _replace_links(text: str, change: Callable[[str], str]) -> str:
    """Change the targets of all relative links outside code."""
    pieces, start = [], 0
    for fence in _FENCE.finditer(text):
        pieces += [_replace_in_prose(text[start : fence.start()], change), fence.group()]
        start = fence.end()
    return "".join([*pieces, _replace_in_prose(text[start:], change)])


def _replace_in_prose(prose: str, change: Callable[[str], str]) -> str:
    def replace(match: re.Match[str]) -> str:
        target = match["target"]
        if target is None or ":" in target:
            return match.group()
        return f"]({change(target)}{match['anchor'] or ''})"

    return _CODE_OR_LINK.sub(replace, prose)

"""Map of the files near an item: those that it imports and those of its folder, with their functions and classes.

It names no other files, so that a change elsewhere does not change what models are shown of the item. Pure.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from pathlib import PurePosixPath

from ...models.text.numbered_lines import split_lines
from ..values.runs import ReadItem
from .outline import Definition, Outline

#: Maximum files, and functions and classes of one file.
MAX_FILES, MAX_SYMBOLS = 40, 30
_WORD = re.compile(r"[\w-]+")
#: Names of files that represent their folder.
_FOLDER_FILES = frozenset({"__init__", "index", "mod"})


def project_map(
    read: ReadItem,
    outline: Outline,
    files: Sequence[PurePosixPath],
    *,
    outline_of_file: Callable[[str], Outline],
) -> str:
    """Return one line for each file near an item: its path, functions and classes; empty without such files.

    Args:
        read: The item.
        outline: Its outline.
        files: Paths of the files of the project with the suffix of the item, sorted.
        outline_of_file: Returns the outline of one of them.
    """
    lines: list[str] = []
    for path in _near_files(read, outline, files):
        symbols = list(_symbols(outline_of_file(path).definitions))
        more = ", ..." if len(symbols) > MAX_SYMBOLS else ""
        lines.append(f"{path}: {', '.join(symbols[:MAX_SYMBOLS])}{more}" if symbols else path)
        if len(lines) == MAX_FILES:
            break
    return "\n".join(lines)


def _near_files(read: ReadItem, outline: Outline, files: Sequence[PurePosixPath]) -> Iterator[str]:
    """Yield the files that the item imports, then those of its folder."""
    own, text = PurePosixPath(read.item.path), split_lines(read.text)
    imports = (text[number - 1] for number in outline.imports if number <= len(text))
    imported = {word for line in imports for word in _WORD.findall(line)}
    others = [it for it in files if it != own]
    yield from (str(it) for it in others if _module_name(it) in imported)
    yield from (str(it) for it in others if it.parent == own.parent and _module_name(it) not in imported)


def _module_name(path: PurePosixPath) -> str:
    return path.parent.name if path.stem in _FOLDER_FILES else path.stem


def _symbols(definitions: Sequence[Definition]) -> Iterator[str]:
    for it in definitions:
        if it.name:
            yield it.name
            yield from (f"{it.name}.{child.name}" for child in it.children if child.name)

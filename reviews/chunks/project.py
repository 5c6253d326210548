"""Context of an item from its project: rules, callers of changed functions, and a map of the files near it.

Everything is read below the root, within limits. It is shown to models as text, and nothing in it decides
what is executed.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path, PurePosixPath

from ...models.errors import GitFailed
from ...models.text.numbered_lines import format_line, split_lines
from ..sources.files import SKIPPED_FOLDERS
from ..sources.repository import Repository
from ..sources.sandboxed_folder import SandboxedFolder, WalkEntry
from ..values.panels import Panel
from ..values.runs import ReadItem, SkippedItem
from .form import Section
from .outline import Definition, Outline, outline_of

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
    """Return one line for each file near an item: path, functions and classes. `files`: sorted, with its suffix."""
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
    others = [path for path in files if path != own]
    yield from (str(path) for path in others if _module_name(path) in imported)
    yield from (
        str(path) for path in others if path.parent == own.parent and _module_name(path) not in imported
    )


def _module_name(path: PurePosixPath) -> str:
    return path.parent.name if path.stem in _FOLDER_FILES else path.stem


def _symbols(definitions: Sequence[Definition]) -> Iterator[str]:
    for definition in definitions:
        if definition.name:
            yield definition.name
            yield from (f"{definition.name}.{child.name}" for child in definition.children if child.name)


#: Files with rules in the root of a project.
RULE_FILES = ("AGENTS.md", "CONTRIBUTING.md")
#: Maximum bytes of each of them that are shown.
MAX_RULES_BYTES = 8_192
#: Maximum callers that are shown, and of one function.
MAX_CALLERS, MAX_CALLERS_OF_ONE = 30, 5
#: Maximum files in which callers are searched, and bytes of all of them.
MAX_SEARCHED_FILES, MAX_SEARCHED_BYTES = 5_000, 33_554_432
_MAX_FILE_BYTES = 262_144
#: Maximum files that models may read, and bytes of all of them.
MAX_READABLE_FILES, MAX_READABLE_BYTES = 2_000, 16_777_216
#: Maximum characters of a line with a call.
_MAX_LINE = 200


@dataclass(frozen=True)
class Project:
    """The rules of a panel, and the folder of the reviewed files."""

    panel: Panel
    #: None: the items are not files.
    folder: Path | None = None

    def sections(self, read: ReadItem, outline: Outline) -> list[Section]:
        """Return the context of an item, the most important first."""
        sections = [
            Section("Rules of the panel:", self.panel.rules_for(read.item.path)),
            *(Section(f"Rules of the project ({name}):", text) for name, text in self._rules.items()),
        ]
        if read.item.changed is not None:
            sections.insert(
                1, Section("Lines elsewhere that name the changed functions:", self._callers(read, outline))
            )
        alike = self._paths.get(PurePosixPath(read.item.path).suffix, ())
        near = project_map(read, outline, alike, outline_of_file=self._outline_of_file)
        sections.append(Section("Files near this one, with their functions and classes:", near))
        return [section for section in sections if section.text.strip()]

    def _outline_of_file(self, path: str) -> Outline:
        if path not in self._outlines:
            self._outlines[path] = outline_of(path, self._texts[path])
        return self._outlines[path]

    @cached_property
    def _outlines(self) -> dict[str, Outline]:
        """Outlines of files, which many items are near to."""
        return {}

    @cached_property
    def _rules(self) -> dict[str, str]:
        if self.folder is None:
            return {}
        with SandboxedFolder(self.folder) as root:
            texts = {name: _read(root, name) for name in RULE_FILES if root.exists(name)}
        return {name: text.encode()[:MAX_RULES_BYTES].decode(errors="ignore") for name, text in texts.items()}

    @cached_property
    def readable_files(self) -> dict[str, str]:
        """Texts of the files that models may read, by path, as far as the limits allow; empty without `read_files`."""
        if not self.panel.read_files:
            return {}
        files: dict[str, str] = {}
        left = MAX_READABLE_BYTES
        for path, text in self._texts.items():
            left -= len(text.encode())
            if left < 0 or len(files) == MAX_READABLE_FILES:
                break
            if text:
                files[path] = text
        return files

    @cached_property
    def _paths(self) -> dict[str, list[PurePosixPath]]:
        """Paths of the source files by their suffix, sorted."""
        by_suffix: dict[str, list[PurePosixPath]] = {}
        for path in map(PurePosixPath, sorted(self._texts)):
            by_suffix.setdefault(path.suffix, []).append(path)
        return by_suffix

    @cached_property
    def _sources(self) -> dict[str, list[str]]:
        return {path: split_lines(text) for path, text in self._texts.items()}

    @cached_property
    def _texts(self) -> dict[str, str]:
        """Texts of the source files by path, as far as the limits allow; empty for a file that is no text."""
        if self.folder is None:
            return {}
        texts: dict[str, str] = {}
        left = MAX_SEARCHED_BYTES
        with SandboxedFolder(self.folder) as root:
            for path in _source_paths(root, _ignored(self.folder)):
                text = _read(root, path)
                left -= len(text)
                if len(texts) >= MAX_SEARCHED_FILES or left < 0:
                    break
                texts[path] = text
        return texts

    def _callers(self, read: ReadItem, outline: Outline) -> str:
        names = list(dict.fromkeys(_changed_names(read.item.changed or (), outline)))
        suffix = PurePosixPath(read.item.path).suffix
        callers: list[str] = []
        for name in names:
            call = re.compile(rf"(?<!def )(?<!class )\b{re.escape(name)}\b")
            hits = (
                f"{path}: {format_line(number, line.strip()[:_MAX_LINE], is_reviewed=False).strip()}"
                for path, lines in self._sources.items()
                if path != read.item.path and path.endswith(suffix)
                for number, line in enumerate(lines, start=1)
                if name in line and call.search(line)
            )
            callers += [hit for hit, _ in zip(hits, range(MAX_CALLERS_OF_ONE), strict=False)]
        return "\n".join(callers[:MAX_CALLERS])


def _changed_names(changed: Iterable[tuple[int, int]], outline: Outline) -> Iterator[str]:
    """Yield the names of functions and classes with changed lines, except names that begin and end with `__`."""
    ranges = list(changed)
    for definition in outline.every_definition():
        is_changed = any(first <= definition.end and definition.start <= last for first, last in ranges)
        if (
            is_changed
            and definition.name
            and not (definition.name.startswith("__") and definition.name.endswith("__"))
        ):
            yield definition.name


def _source_paths(root: SandboxedFolder, ignored: frozenset[str]) -> Iterator[str]:
    def leave_out(entry: WalkEntry) -> str | None:
        name = entry.path.rpartition("/")[2]
        is_ignored = (f"{entry.path}/" if entry.is_folder else entry.path) in ignored
        return "" if is_ignored or name.startswith(".") or name in SKIPPED_FOLDERS else None

    return (path for path in root.walk("", leave_out=leave_out) if not isinstance(path, SkippedItem))


def _ignored(folder: Path) -> frozenset[str]:
    repository = Repository.find(folder)
    try:
        return frozenset() if repository is None else repository.ignored()
    except GitFailed:
        return frozenset()


def _read(root: SandboxedFolder, path: str) -> str:
    """Return the text of a file; empty if it cannot be read as text."""
    data = root.read(path, limit=_MAX_FILE_BYTES)
    return "" if isinstance(data, SkippedItem) or b"\0" in data[:8_192] else data.decode(errors="replace")

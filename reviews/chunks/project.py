"""Context from the project of the reviewed files: rules, map, callers of what changed, signatures of what is used.

Everything is read below the root, within limits. It is shown to models as text, and nothing in it decides
what is executed.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from ...models.errors import GitFailed
from ...models.text.numbered_lines import split_lines
from ..sources.files import SKIPPED_FOLDERS
from ..sources.repository import Repository
from ..sources.sandboxed_folder import SandboxedFolder, WalkEntry
from ..values.changes import removed_ranges, text_before
from ..values.panels import Panel
from ..values.runs import ItemKind, ReadItem, SkippedItem
from .imports import ImportIndex
from .outline import Definition, Outline, outline_of

#: Files with rules in the root of a project.
RULE_FILES = ("AGENTS.md", "CONTRIBUTING.md")
#: Maximum bytes of each of them that are shown.
MAX_RULES_BYTES = 8_192
#: Maximum functions and classes of one file in the map.
MAX_SYMBOLS = 30
#: Maximum callers that are shown, and of one function.
MAX_CALLERS, MAX_CALLERS_OF_ONE = 30, 5
#: Maximum signatures of other files that are shown with an item.
MAX_SIGNATURES = 60
#: Maximum files in which callers are searched, and bytes of all of them.
MAX_SEARCHED_FILES, MAX_SEARCHED_BYTES = 5_000, 33_554_432
_MAX_FILE_BYTES = 262_144
#: Maximum files that models may read, and bytes of all of them.
MAX_READABLE_FILES, MAX_READABLE_BYTES = 2_000, 16_777_216
#: Maximum characters of a line with a call or a signature.
_MAX_LINE = 200


@dataclass(frozen=True)
class Project:
    """The rules of a panel, and the folder of the reviewed files."""

    panel: Panel
    #: None: the items are not files.
    folder: Path | None = None

    @cached_property
    def rules(self) -> str:
        """Rules for all items: those of the panel, and the files with rules of the project."""
        files = (f"Rules of the project ({name}):\n{text}" for name, text in self._rule_files.items())
        own = self.panel.review_rules
        return "\n\n".join([*([f"Rules of the panel:\n{own}"] if own.strip() else []), *files])

    def map(self, max_bytes: int) -> str:
        """Return the files with the signatures of their functions and classes; cut to those that most others import."""
        ranked = sorted(self._texts, key=lambda path: (-len(self._imports.importers(path)), path))
        entries: dict[str, str] = {}
        for path in ranked:
            definitions = self._outline_of_file(path).definitions
            if not definitions:
                continue
            lines = list(_map_lines(definitions, split_lines(self._texts[path])))
            more = ["  ..."] if len(lines) > MAX_SYMBOLS else []
            entry = "\n".join([path, *lines[:MAX_SYMBOLS], *more])
            max_bytes -= len(entry.encode()) + 1
            if max_bytes < 0:
                break
            entries[path] = entry
        return "\n".join(entries[path] for path in sorted(entries))

    def signatures(self, read: ReadItem, shown: str) -> str:
        """Return the signatures of functions and classes of other files that an item imports and `shown` names."""
        words = frozenset(re.findall(r"\w+", shown))
        lines: list[str] = []
        for use in self._imports.uses(read.item.path, read.text):
            text = split_lines(self._texts[use.path])
            for definition in self._outline_of_file(use.path).definitions:
                if definition.name in use.names & words:
                    used = [
                        child
                        for child in definition.children
                        if child.name in words or child.name == "__init__"
                    ]
                    lines += [f"{use.path}: {_signature(each, text)}" for each in (definition, *used)]
        return "\n".join(lines[:MAX_SIGNATURES])

    def callers(self, read: ReadItem, outline: Outline) -> str:
        """Return the lines of files that import a changed file and name what changed in it."""
        old = read.item.renamed_from
        of_old = self._imports.importers(old) if old else []
        importers = dict.fromkeys([*self._imports.importers(read.item.path), *of_old])
        # What imports the earlier path no longer finds it.
        callers = [f"{path}: imports {old}" for path in of_old]
        for name in _changed_names(read, outline):
            call = re.compile(rf"(?<!def )(?<!class )\b{re.escape(name)}\b")
            hits = (
                f"{path}:{number}: {line.strip()[:_MAX_LINE]}"
                for path in importers
                for number, line in enumerate(split_lines(self._texts[path]), start=1)
                if name in line and call.search(line)
            )
            callers += [hit for hit, _ in zip(hits, range(MAX_CALLERS_OF_ONE), strict=False)]
        return "\n".join(dict.fromkeys(callers[:MAX_CALLERS]))

    @cached_property
    def _imports(self) -> ImportIndex:
        return ImportIndex(self._texts)

    def _outline_of_file(self, path: str) -> Outline:
        if path not in self._outlines:
            self._outlines[path] = outline_of(path, self._texts[path])
        return self._outlines[path]

    @cached_property
    def _outlines(self) -> dict[str, Outline]:
        """Outlines of files, which many items use."""
        return {}

    @cached_property
    def _rule_files(self) -> dict[str, str]:
        if self.folder is None:
            return {}
        with SandboxedFolder(self.folder) as root:
            texts = {name: _read(root, name) for name in RULE_FILES if root.exists(name)}
        cut = {name: text.encode()[:MAX_RULES_BYTES].decode(errors="ignore") for name, text in texts.items()}
        return {name: text.strip() for name, text in cut.items() if text.strip()}

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


def _map_lines(definitions: Sequence[Definition], lines: Sequence[str], indent: str = "  ") -> Iterator[str]:
    for definition in definitions:
        yield indent + _signature(definition, lines)
        if indent == "  ":
            yield from _map_lines(definition.children, lines, "    ")


def _signature(definition: Definition, lines: Sequence[str]) -> str:
    """Return the signature in one line."""
    signature = " ".join(
        line.strip() for line in lines[definition.signature.start - 1 : definition.signature.stop - 1]
    )
    return " ".join(signature.split())[:_MAX_LINE]


def _changed_names(read: ReadItem, outline: Outline) -> list[str]:
    """Return the names of functions and classes with changed lines, also before the change, without special names."""
    names = dict.fromkeys(_names_at(outline, read.item.changed or ()))
    if read.hunks and read.item.removed:
        before = "\n".join(
            split_lines(read.text)
            if read.item.kind is ItemKind.DELETED
            else text_before(split_lines(read.text), read.hunks)
        )
        old = outline_of(read.item.renamed_from or read.item.path, before)
        names |= dict.fromkeys(_names_at(old, removed_ranges(read.hunks)))
    return [name for name in names if not (name.startswith("__") and name.endswith("__"))]


def _names_at(outline: Outline, ranges: Iterable[tuple[int, int]]) -> Iterator[str]:
    listed = list(ranges)
    for definition in outline.every_definition():
        if definition.name and any(
            first <= definition.end and definition.start <= last for first, last in listed
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

"""Files below a root, selected by patterns and git changes, without files that git ignores.

Patterns are as in a shell and `.gitignore`: `*`, `?` and `[...]` match characters of one name, `**` any
number of folders. A pattern without a `/` matches names, at any depth; one with a `/` matches the whole path,
from the root. A pattern that matches a folder matches everything in it.

pathspec is not used: its version 1.1 converts a pattern to one regular expression, and
`*a*a*a*a*a*a*a*a*a*a*a*ab` takes minutes for a long name.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from itertools import chain
from pathlib import Path

from ...models.errors import GitFailed, InvalidInput
from ..values.changes import Hunk
from ..values.runs import ItemKind, ReadItem, SkippedItem
from .repository import Changes, Repository
from .sandboxed_folder import SandboxedFolder, WalkEntry, escape_path
from .scope import ATTRIBUTES, reason_by_name, reason_by_text
from .source import SourceLimits, apply_limits, deleted_item, read_file

#: Maximum patterns of one kind, and characters of one pattern.
MAX_PATTERNS = 100
MAX_PATTERN = 500


class Globs:
    """A set of patterns. Raises InvalidInput for one that can match nothing."""

    def __init__(self, patterns: Iterable[str], *, field: str) -> None:
        given = tuple(patterns)
        if len(given) > MAX_PATTERNS:
            raise InvalidInput(field, len(given), f"must have at most {MAX_PATTERNS} patterns")
        self._patterns = tuple(_parts(pattern, field) for pattern in given)

    def __bool__(self) -> bool:
        return bool(self._patterns)

    def matches(self, path: str) -> bool:
        """Return whether a pattern matches the path or one of its folders."""
        parts = path.split("/")
        return any(_matches(pattern, parts) for pattern in self._patterns)


def _parts(pattern: str, field: str) -> tuple[str, ...]:
    bare = pattern.removeprefix("./").removeprefix("/").rstrip("/")
    if not bare or len(pattern) > MAX_PATTERN or ".." in bare.split("/"):
        raise InvalidInput(field, pattern, "must be a pattern below the root, such as *.py or docs/**/*.md")
    parts = bare.split("/")
    anywhere = len(parts) == 1 and not pattern.startswith(("/", "./"))
    # Several `**` in a row mean the same as one, and would only cost time.
    given = ["**", *parts] if anywhere else parts
    return tuple(part for at, part in enumerate(given) if part != "**" or given[at - 1 : at] != ["**"])


def _matches(pattern: Sequence[str], parts: Sequence[str]) -> bool:
    """Return whether the pattern matches the path or a folder above it.

    The search tracks the set of reachable pattern positions, so its time is at most the product of both
    lengths.
    """
    places = _skip_stars({0}, pattern)
    for part in parts:
        if len(pattern) in places:
            return True
        stay = {at for at in places if pattern[at] == "**"}
        go = {at + 1 for at in places if pattern[at] == "**" or fnmatchcase(part, pattern[at])}
        places = _skip_stars(stay | go, pattern)
        if not places:
            return False
    return len(pattern) in places


def _skip_stars(places: set[int], pattern: Sequence[str]) -> set[int]:
    """Return the positions, and those after a `**` that matches no folder.

    A last `**` matches at least one name.
    """
    return places | {at + 1 for at in places if at < len(pattern) - 1 and pattern[at] == "**"}


#: Folders of version control and of generated files: skipped in every root.
SKIPPED_FOLDERS = frozenset({".hg", ".svn", "__pycache__", "node_modules"})


@dataclass(frozen=True, slots=True)
class FileSelection:
    """Selection of files below a root. Patterns are those of `Globs`."""

    #: Files, and folders with all their content, relative to the root; empty: the root itself.
    paths: Sequence[str] = ()
    #: Only files that match one of these; empty: every file.
    include: Sequence[str] = ()
    exclude: Sequence[str] = ()
    #: Only files that changed since this git revision, or are new.
    since: str | None = None
    #: Only files that changed since the checked-out branch left this one.
    base: str | None = None


@dataclass(frozen=True, slots=True)
class FileSource:
    """Files below `folder`. A file named in `paths` is read even if git ignores it."""

    folder: Path
    selection: FileSelection = FileSelection()
    caps: SourceLimits = field(default_factory=SourceLimits)

    def __iter__(self) -> Iterator[ReadItem | SkippedItem]:
        """Yield items by their paths.

        Raises:
            InvalidInput: The root is not a folder, a pattern or a revision matches nothing, or there is no
                repository.
            GitFailed: Git failed to list the changes.
        """
        repository = Repository.find(self.folder)
        changes = self._changes(repository)
        with SandboxedFolder(self.folder) as root:
            entries = list(self._found(root, repository, changes))
            deleted = dict(self._deleted_files(changes)) if changes else {}
            present = [path for path in entries if isinstance(path, str)]
            attributes = _attributes(repository, [*present, *deleted])
            read = (self._read(root, entry, changes, attributes.get(_path(entry), {})) for entry in entries)
            gone = (self._deleted(path, hunks, attributes.get(path, {})) for path, hunks in deleted.items())
            yield from apply_limits(chain(read, gone), self.caps)

    def _read(
        self,
        root: SandboxedFolder,
        entry: str | SkippedItem,
        changes: Changes | None,
        attributes: Mapping[str, str],
    ) -> ReadItem | SkippedItem:
        if isinstance(entry, SkippedItem):
            return entry
        is_named = entry in self.selection.paths
        if not is_named and (reason := reason_by_name(entry, attributes)):
            return SkippedItem(path=entry, reason=reason)

        def left_out(text: str) -> str:
            return "" if is_named else reason_by_text(text, attributes)

        old = changes.renames.get(entry, "") if changes else ""
        kind = ItemKind.FILE if changes is None else ItemKind.RENAMED if old else ItemKind.CHANGE
        return read_file(
            root,
            entry,
            max_bytes=self.caps.item_bytes,
            kind=kind,
            # Lines of a notebook's file are none of its cells.
            hunks=changes.hunks.get(entry) if changes and not entry.endswith(".ipynb") else None,
            renamed_from=old,
            left_out=left_out,
        )

    def _deleted(
        self, path: str, hunks: tuple[Hunk, ...], attributes: Mapping[str, str]
    ) -> ReadItem | SkippedItem:
        """Return a deleted file as an item, or why it is skipped."""
        read = deleted_item(path, hunks, max_bytes=self.caps.item_bytes)
        if path in self.selection.paths:
            return read
        reason = reason_by_name(path, attributes)
        if not reason and isinstance(read, ReadItem):
            reason = reason_by_text(read.text, attributes)
        return SkippedItem(path=escape_path(path), reason=reason) if reason else read

    def _deleted_files(self, changes: Changes) -> Iterator[tuple[str, tuple[Hunk, ...]]]:
        """Yield the deleted files that are selected, with their hunks."""
        include = Globs(self.selection.include, field="include")
        exclude = Globs(self.selection.exclude, field="exclude")
        for path in changes.deleted:
            is_named = any(_is_below(path, name) for name in self.selection.paths or [""])
            is_meant = is_named and (not include or include.matches(path)) and not exclude.matches(path)
            if is_meant and SKIPPED_FOLDERS.isdisjoint(path.split("/")[:-1]):
                yield path, changes.hunks.get(path) or ()

    def _changes(self, repository: Repository | None) -> Changes | None:
        name, revision = (
            ("since", self.selection.since) if self.selection.since else ("base", self.selection.base)
        )
        if not revision:
            return None
        if repository is None:
            raise InvalidInput(name, revision, "requires a folder in a git repository")
        if name == "base":
            return repository.changes(repository.fork_point(revision))
        return repository.changes(repository.resolve_commit(revision, field=name))

    def _found(
        self, root: SandboxedFolder, repository: Repository | None, changes: Changes | None
    ) -> Iterator[str | SkippedItem]:
        include = Globs(self.selection.include, field="include")
        walked = _Walk(root, repository, Globs(self.selection.exclude, field="exclude"))
        for entry in walked.list_paths(self.selection.paths):
            # Report an unreadable folder with any patterns, because its content might match.
            is_meant = isinstance(entry, SkippedItem) or not include or include.matches(entry)
            if is_meant and (changes is None or changes.has_changed(_path(entry))):
                yield entry


def _is_below(path: str, name: str) -> bool:
    bare = name.removeprefix("./").rstrip("/")
    return bare in ("", ".", path) or path.startswith(f"{bare}/")


def _attributes(repository: Repository | None, paths: Sequence[str]) -> Mapping[str, Mapping[str, str]]:
    """Return the attributes of paths that say what they are; empty if git fails or there is no repository."""
    try:
        return {} if repository is None else repository.attributes(paths, ATTRIBUTES)
    except GitFailed:
        return {}


def _path(entry: str | SkippedItem) -> str:
    return entry.path if isinstance(entry, SkippedItem) else entry


def list_files(folder: Path) -> Iterator[str | SkippedItem]:
    """Yield the paths of all files below a root that git does not ignore.

    Raises:
        InvalidInput: The root is not a folder.
    """
    with SandboxedFolder(folder) as root:
        yield from _Walk(root, Repository.find(folder), Globs((), field="exclude")).list_paths(())


class _Walk:
    """Walk through a root, without excluded files."""

    def __init__(self, root: SandboxedFolder, repository: Repository | None, exclude: Globs) -> None:
        self._root = root
        self._exclude = exclude
        self._ignored: frozenset[str] = frozenset()
        self._is_in_repository = repository is not None
        self._git_problem = ""
        try:
            self._ignored = frozenset() if repository is None else repository.ignored()
        except GitFailed as error:
            self._git_problem = f"{error}; files that git ignores are reviewed as well"

    def list_paths(self, paths: Sequence[str]) -> Iterator[str | SkippedItem]:
        """Yield every path once, even if it is named several times."""
        if self._git_problem:
            yield SkippedItem(path=".gitignore", reason=self._git_problem)
        seen = set[str]()
        for path in paths or [""]:
            for entry in self._below(path):
                if _path(entry) not in seen:
                    seen.add(_path(entry))
                    yield entry

    def _below(self, path: str) -> Iterator[str | SkippedItem]:
        bare = "" if path == "." else path.removeprefix("./").rstrip("/")
        if bare and not self._root.is_folder(bare):
            yield bare
        else:
            yield from self._root.walk(bare, leave_out=self._skip_reason)

    def _skip_reason(self, named: WalkEntry) -> str | None:
        name = named.path.rpartition("/")[2]
        if name == ".git" or (named.is_folder and name in SKIPPED_FOLDERS):
            return ""
        ignored = f"{named.path}/" if named.is_folder else named.path
        if ignored in self._ignored or self._exclude.matches(named.path):
            return ""
        if named.is_folder and self._is_in_repository and self._root.exists(f"{named.path}/.git"):
            return "another repository"
        return None

"""Imports between the files of a project: what a file uses of others, and which files use it. Pure.

Statements of Python are found by their form, those of other languages by tree-sitter (`outline`). A module is a file of
the project only if its whole path fits, from the root, from a source folder or from the importing file: a file that
merely has the same name is none.
"""

from __future__ import annotations

import re
import sys
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cached_property
from itertools import takewhile
from pathlib import PurePosixPath
from posixpath import dirname, normpath
from typing import NamedTuple

from ...models.text.numbered_lines import split_lines
from .outline import GRAMMARS, outline_of

_PYTHON = (".py", ".pyi")
_SCRIPTS = (".js", ".jsx", ".mjs", ".cjs", ".ts", ".mts", ".cts", ".tsx")
_FROM = re.compile(r"^[ \t]*from[ \t]+(\.*)([\w.]*)[ \t]+import[ \t]+(\([^)]*\)|[^\n#;]*)", re.MULTILINE)
_IMPORT = re.compile(r"^[ \t]*import[ \t]+([\w., \t]+)", re.MULTILINE)
_COMMENT = re.compile(r"#[^\n]*")
_QUOTED = re.compile(r"""["']([^"'\n]{1,300})["']""")
_REQUIRE = re.compile(r"""\b(?:require|import)\(\s*["'](\.[^"'\n]{1,300})["']\s*\)""")
_NAMES = re.compile(r"\{([^}]*)\}")
_JAVA = re.compile(r"import\s+(?:static\s+)?([\w.]+)")
_RUST = re.compile(r"use\s+((?:crate|super|self)(?:::\w+)+)(?:::\{([^}]*)\})?")
_PROJECT_FILES = frozenset({"pyproject.toml", "setup.py", "setup.cfg"})


class Import(NamedTuple):
    """An import of a file: candidates of its path, the first that exists counts."""

    candidates: tuple[str, ...]
    #: Imported name; empty: the whole module.
    name: str = ""
    #: Name of the module in the importing text, if all of it is imported.
    alias: str = ""


class Use(NamedTuple):
    """Names that a file imports from another one."""

    path: str
    names: frozenset[str]


class ImportIndex:
    """Imports between files, given by path."""

    def __init__(self, texts: Mapping[str, str]) -> None:
        self._texts = texts
        roots = {dirname(path) for path in texts if path.rpartition("/")[2] in _PROJECT_FILES}
        bases = {"", *roots}
        self._bases = sorted(
            {*bases, *(f"{base}/{name}".lstrip("/") for base in bases for name in ("src", "lib"))}
        )

    def uses(self, path: str, text: str) -> list[Use]:
        """Return the files that a file imports, with the names that it uses of them."""
        names: dict[str, set[str]] = defaultdict(set)
        for imported in self._imports(path, text):
            target = _resolve(imported, self._texts.__contains__)
            if target is None or target == path:
                continue
            used = {imported.name} if imported.name else set(_attributes(imported.alias, text))
            names[target].update(used)
        return [Use(target, frozenset(names[target])) for target in sorted(names)]

    def importers(self, path: str) -> list[str]:
        """Return the files that import a file, also one that no longer exists."""
        if path in self._texts:
            return self._importers.get(path, [])
        return self._importers_of_absent.get(path, [])

    @cached_property
    def _all_imports(self) -> dict[str, list[Import]]:
        return {path: list(self._imports(path, self._texts[path])) for path in sorted(self._texts)}

    @cached_property
    def _importers(self) -> dict[str, list[str]]:
        importers: dict[str, list[str]] = {}
        for path, imports in self._all_imports.items():
            targets = {_resolve(imported, self._texts.__contains__) for imported in imports}
            for target in targets - {None, path}:
                importers.setdefault(target or "", []).append(path)
        return importers

    @cached_property
    def _importers_of_absent(self) -> dict[str, list[str]]:
        """Importing files by each path that would come before the present files."""
        importers: dict[str, dict[str, None]] = defaultdict(dict)
        for path, imports in self._all_imports.items():
            for imported in imports:
                for target in takewhile(lambda name: name not in self._texts, imported.candidates):
                    importers[target][path] = None
        return {target: list(paths) for target, paths in importers.items()}

    def _imports(self, path: str, text: str) -> Iterator[Import]:
        suffix = PurePosixPath(path).suffix.lower()
        if suffix in _PYTHON:
            yield from self._python(path, text)
            return
        if suffix not in GRAMMARS:
            return
        lines = split_lines(text)
        statements = "\n".join(
            lines[number - 1] for number in outline_of(path, text).imports if number <= len(lines)
        )
        if suffix in _SCRIPTS:
            yield from _scripts(path, text, statements)
        elif suffix == ".go":
            yield from self._go(statements)
        elif suffix == ".java":
            yield from self._java(statements)
        elif suffix == ".rs":
            yield from _rust(path, statements)

    def _python(self, path: str, text: str) -> Iterator[Import]:
        for dots, module, imported in _FROM.findall(text):
            parts = [part for part in module.split(".") if part]
            for name in _words(_COMMENT.sub("", imported.strip("()"))):
                # A name is a module of the package, or a name in it.
                yield Import(tuple(self._modules(path, dots, [*parts, name])), alias=name)
                yield Import(tuple(self._modules(path, dots, parts)), name=name)
        for names in _IMPORT.findall(text):
            for module in _words(names):
                parts = module.split(".")
                yield Import(tuple(self._modules(path, "", parts)), alias=parts[-1])

    def _modules(self, path: str, dots: str, parts: list[str]) -> Iterator[str]:
        """Yield the paths that a module may have."""
        if dots:
            base = dirname(path)
            for _ in dots[1:]:
                base = dirname(base)
            yield from _python_files(base, parts)
            return
        for base in self._bases:
            yield from _python_files(base, parts)
        if parts and parts[0] not in sys.stdlib_module_names:
            yield from _python_files(dirname(path), parts)
        if len(parts) > 2:  # the root is the package itself
            yield from _python_files("", parts[1:])

    def _go(self, statements: str) -> Iterator[Import]:
        for package in _QUOTED.findall(statements):
            parts = package.split("/")
            folders = ["/".join(parts[at:]) for at in range(len(parts))]
            folder = next((each for each in folders if each in self._go_folders), "")
            for path in self._go_folders.get(folder, ()):
                yield Import((path,), alias=parts[-1])

    @cached_property
    def _go_folders(self) -> dict[str, list[str]]:
        folders: dict[str, list[str]] = {}
        for path in self._texts:
            if path.endswith(".go") and "/" in path:
                folders.setdefault(dirname(path), []).append(path)
        return folders

    @cached_property
    def _java_files(self) -> dict[str, list[str]]:
        """Paths by the name of the file."""
        files: dict[str, list[str]] = defaultdict(list)
        for path in self._texts:
            if path.endswith(".java"):
                files[path.rpartition("/")[2]].append(path)
        return files

    def _java(self, statements: str) -> Iterator[Import]:
        for name in _JAVA.findall(statements):
            end = f"/{name.replace('.', '/')}.java"
            matches = (
                path for path in self._java_files.get(end.rpartition("/")[2], ()) if f"/{path}".endswith(end)
            )
            yield Import(tuple(matches), name=name.rpartition(".")[2])


def _resolve(imported: Import, exists: Callable[[str], bool]) -> str | None:
    return next((path for path in imported.candidates if exists(path)), None)


def _python_files(base: str, parts: Iterable[str]) -> Iterator[str]:
    stem = "/".join(filter(None, (base, *parts)))
    if stem:
        yield from (f"{stem}.py", f"{stem}/__init__.py", f"{stem}.pyi")


def _words(names: str) -> list[str]:
    """Return the imported names of a list, without `as`."""
    return [words[0] for name in names.split(",") if (words := name.split())]


def _attributes(alias: str, text: str) -> list[str]:
    return re.findall(rf"\b{re.escape(alias)}\.(\w+)", text) if alias else []


def _scripts(path: str, text: str, statements: str) -> Iterator[Import]:
    """Yield the relative imports of JavaScript and TypeScript."""
    for statement in re.split(r"(?<=[\"'])\s*;?\s*\n", statements):
        target = next((quoted for quoted in _QUOTED.findall(statement) if quoted.startswith(".")), None)
        if target is None:
            continue
        names = [name for group in _NAMES.findall(statement) for name in _words(group)]
        alias = re.search(r"(?:\*\s+as\s+|import\s+)(\w+)", statement)
        files = tuple(_script_files(path, target))
        yield Import(files, alias=alias[1] if alias else "")
        yield from (Import(files, name=name) for name in names)
    for target in _REQUIRE.findall(text):
        yield Import(tuple(_script_files(path, target)))


def _script_files(path: str, target: str) -> Iterator[str]:
    stem = normpath(f"{dirname(path)}/{target}").lstrip("/")
    yield stem
    bare = stem.rpartition(".")[0] if stem.endswith((".js", ".mjs", ".cjs", ".jsx")) else stem
    own = PurePosixPath(path).suffix
    suffixes = sorted(_SCRIPTS, key=lambda suffix: suffix[1] != own[1])  # a language prefers its own files
    yield from (f"{bare}{suffix}" for suffix in suffixes)
    yield from (f"{stem}/index{suffix}" for suffix in suffixes)


def _rust(path: str, statements: str) -> Iterator[Import]:
    """Yield the modules of the own crate."""
    crate = path.partition("src/")[0] + "src" if "src/" in path else dirname(path)
    for module, group in _RUST.findall(statements):
        first, *parts = module.split("::")
        base = crate if first == "crate" else dirname(path)
        for name in _words(group) or [""]:
            whole = [*parts, name] if name else parts
            files = [f"{base}/{'/'.join(whole[:end])}" for end in (len(whole), len(whole) - 1) if end > 0]
            yield Import(
                tuple(f"{file}{end}" for file in files for end in (".rs", "/mod.rs")), name=whole[-1]
            )

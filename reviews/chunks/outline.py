"""Outline of a text: its functions and classes, and the lines that import names. Pure.

Python is parsed by the standard library. Other languages are parsed by tree-sitter if its grammar is installed
(`symposia[review]`). A text that cannot be parsed has an empty outline, and is split at blank lines.
"""

from __future__ import annotations

import ast
import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib import import_module
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tree_sitter import Node, Parser


#: Maximum lines of a signature that are shown as context.
MAX_SIGNATURE_LINES = 6


@dataclass(frozen=True, slots=True)
class Definition:
    """A function or class, with its lines from 1, both ends included."""

    name: str
    start: int
    end: int
    #: Last line of its signature.
    signature_end: int
    children: tuple[Definition, ...] = ()

    @property
    def signature(self) -> range:
        """Lines of the signature, with decorators."""
        return range(self.start, min(self.signature_end, self.start + MAX_SIGNATURE_LINES - 1) + 1)


@dataclass(frozen=True, slots=True)
class Outline:
    """Definitions of a text in their order, and the numbers of the lines with imports."""

    definitions: tuple[Definition, ...] = ()
    imports: tuple[int, ...] = field(default=())

    def enclosing(self, line: int) -> list[Definition]:
        """Return the definitions around a line, outermost first."""
        definitions: list[Definition] = []
        level: Sequence[Definition] = self.definitions
        while inner := next(
            (definition for definition in level if definition.start <= line <= definition.end), None
        ):
            definitions.append(inner)
            level = inner.children
        return definitions

    def every_definition(self) -> Iterator[Definition]:
        """Yield all definitions, outer ones before their children."""
        waiting = list(reversed(self.definitions))
        while waiting:
            current = waiting.pop()
            yield current
            waiting.extend(reversed(current.children))


@dataclass(frozen=True, slots=True)
class Grammar:
    """A package with a grammar, and the types of its nodes that matter."""

    module: str
    #: Function of the module that returns the language.
    function: str = "language"
    definitions: frozenset[str] = frozenset()
    imports: frozenset[str] = frozenset({"import_statement", "import_declaration"})


_JS = frozenset(
    {"function_declaration", "generator_function_declaration", "class_declaration", "method_definition"}
)
_TS = _JS | {"interface_declaration", "abstract_class_declaration", "enum_declaration"}
_JAVASCRIPT = Grammar("tree_sitter_javascript", definitions=_JS)
_TYPESCRIPT = Grammar("tree_sitter_typescript", "language_typescript", _TS)
_GO = frozenset({"function_declaration", "method_declaration", "type_declaration"})
_JAVA = frozenset(
    {"class_declaration", "interface_declaration", "enum_declaration", "method_declaration"}
    | {"constructor_declaration", "record_declaration"}
)
_RUST = frozenset({"function_item", "impl_item", "struct_item", "enum_item", "trait_item", "mod_item"})
#: Grammars by suffix of a path.
GRAMMARS: Mapping[str, Grammar] = {
    **dict.fromkeys((".js", ".jsx", ".mjs", ".cjs"), _JAVASCRIPT),
    **dict.fromkeys((".ts", ".mts", ".cts"), _TYPESCRIPT),
    ".tsx": Grammar("tree_sitter_typescript", "language_tsx", _TS),
    ".go": Grammar("tree_sitter_go", definitions=_GO),
    ".java": Grammar("tree_sitter_java", definitions=_JAVA),
    ".rs": Grammar("tree_sitter_rust", definitions=_RUST, imports=frozenset({"use_declaration"})),
}


def tree_outline(path: str, text: str) -> Outline:
    """Return the outline of a text; empty without a grammar for its suffix."""
    grammar = GRAMMARS.get(PurePosixPath(path).suffix.lower())
    parser = None if grammar is None else _parser(grammar)
    if grammar is None or parser is None:
        return Outline()
    root = parser.parse(text.encode()).root_node
    imports = (node for node in root.children if node.type in grammar.imports)
    lines = [line for node in imports for line in range(node.start_point[0] + 1, node.end_point[0] + 2)]
    try:
        return Outline(tuple(_definitions(root, grammar)), tuple(lines))
    except RecursionError:  # functions in functions, some hundred deep
        return Outline()


@cache
def _parser(grammar: Grammar) -> Parser | None:
    """Return the parser of a grammar; None: it is not installed."""
    try:
        from tree_sitter import Language, Parser

        language: Any = getattr(import_module(grammar.module), grammar.function)
        return Parser(Language(language()))
    except ImportError:
        return None


def _definitions(parent: Node, grammar: Grammar) -> Iterator[Definition]:
    """Yield the definitions below a node; the walk does not recurse through other nodes, which may be deep."""
    waiting = list(reversed(parent.children))
    while waiting:
        node = waiting.pop()
        if node.type not in grammar.definitions:
            waiting.extend(reversed(node.children))
            continue
        start, end = node.start_point[0] + 1, node.end_point[0] + 1
        body, name = node.child_by_field_name("body"), node.child_by_field_name("name")
        signature_end = start if body is None else max(start, body.start_point[0] + 1)
        text = "" if name is None or name.text is None else name.text.decode(errors="replace")
        yield Definition(text, start, end, signature_end, tuple(_definitions(node, grammar)))


def outline_of(path: str, text: str) -> Outline:
    """Return the outline of a text, by the suffix of its path; empty if it cannot be parsed."""
    if PurePosixPath(path).suffix in (".py", ".pyi"):
        return _python_outline(text)
    return tree_outline(path, text)


def _python_outline(text: str) -> Outline:
    try:
        with warnings.catch_warnings(action="ignore"):
            tree = ast.parse(text)
        if tree.body and _count_ast_lines(text) != text.count("\n"):
            return Outline()  # lines are counted differently
        imports = (statement for statement in tree.body if isinstance(statement, ast.Import | ast.ImportFrom))
        lines = [
            line
            for statement in imports
            for line in range(statement.lineno, (statement.end_lineno or statement.lineno) + 1)
        ]
        return Outline(tuple(_python_definitions(tree.body)), tuple(lines))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return Outline()


def _count_ast_lines(text: str) -> int:
    """Return the number of line ends by the rules of Python's parser, which also counts a lone carriage return."""
    return text.replace("\r\n", "\n").replace("\r", "\n").count("\n")


def _python_definitions(body: Sequence[ast.stmt]) -> Iterator[Definition]:
    for node in body:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            start = min([node.lineno, *(decorator.lineno for decorator in node.decorator_list)])
            end = node.end_lineno or node.lineno
            children = tuple(_python_definitions(node.body))
            yield Definition(node.name, start, end, max(node.lineno, node.body[0].lineno - 1), children)

"""Outlines of languages other than Python, by tree-sitter grammars that are installed (`symposia[review]`)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Any

from .outline import Definition, Outline

if TYPE_CHECKING:
    from tree_sitter import Node, Parser


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
    imports = (it for it in root.children if it.type in grammar.imports)
    lines = [line for it in imports for line in range(it.start_point[0] + 1, it.end_point[0] + 2)]
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

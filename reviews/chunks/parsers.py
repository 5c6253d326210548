"""Parsers of outlines. Pure.

Python is parsed by the standard library. Other languages are parsed by tree-sitter if its grammar is installed
(`symposia[review]`). A text that cannot be parsed has an empty outline, and is split at blank lines.
"""

from __future__ import annotations

import ast
import warnings
from collections.abc import Iterator, Sequence
from pathlib import PurePosixPath

from .grammars import tree_outline
from .outline import Definition, Outline


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
        imports = (it for it in tree.body if isinstance(it, ast.Import | ast.ImportFrom))
        lines = [line for it in imports for line in range(it.lineno, (it.end_lineno or it.lineno) + 1)]
        return Outline(tuple(_python_definitions(tree.body)), tuple(lines))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return Outline()


def _count_ast_lines(text: str) -> int:
    """Return the number of line ends by the rules of Python's parser, which also counts a lone carriage return."""
    return text.replace("\r\n", "\n").replace("\r", "\n").count("\n")


def _python_definitions(body: Sequence[ast.stmt]) -> Iterator[Definition]:
    for node in body:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            start = min([node.lineno, *(it.lineno for it in node.decorator_list)])
            end = node.end_lineno or node.lineno
            children = tuple(_python_definitions(node.body))
            yield Definition(node.name, start, end, max(node.lineno, node.body[0].lineno - 1), children)

"""Mutates the guards of a Lua script: each mutant differs from the script in one check."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

_TOKEN = re.compile(
    r"""(?P<comment>--[^\n]*)|(?P<string>'(?:\\.|[^'\\])*'|"(?:\\.|[^"\\])*")|(?P<number>\d[\w.]*)"""
    r"""|(?P<name>[A-Za-z_]\w*)|(?P<sign>==|~=|<=|>=|\.\.\.|\.\.|[^\s\w])"""
)
_SWAPS = {"==": "~=", "~=": "==", "<": "<=", "<=": "<", ">": ">=", ">=": ">"}
_OPENING, _CLOSING = frozenset("([{"), frozenset(")]}")
#: Words that are no operand: an expression ends before them.
_STATEMENTS = frozenset(
    [
        "break",
        "do",
        "else",
        "elseif",
        "end",
        "for",
        "function",
        "if",
        "in",
        "local",
        "repeat",
        "return",
        "then",
        "until",
        "while",
    ]
)
_WORDS = _STATEMENTS | {"and", "or", "not", "nil", "true", "false"}
_BOUNDS = _STATEMENTS | {"and", "or", "=", ",", ";"}


class Token(NamedTuple):
    """A word of the script and its position."""

    kind: str
    text: str
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Mutant:
    """A script with one check changed."""

    script: str
    line: int
    #: What the line says in the script as it is, without its indent.
    was: str
    change: str
    text: str

    def __str__(self) -> str:
        return f"{self.script}.lua:{self.line}: {self.change}"


def mutants(script: str, text: str) -> list[Mutant]:
    """List every mutant of a script, in the order of its lines.

    Args:
        script: The script's name, without its suffix.
        text: What it says.

    Returns:
        Mutants that differ from the script and from each other.
    """
    tokens = _tokens(text)
    lines = text.splitlines()
    made: dict[str, Mutant] = {}
    for start, end, put in sorted(
        [*_conditions(tokens), *_dropped_operands(tokens), *_swapped(tokens, text)]
    ):
        changed = text[:start] + put + text[end:]
        was = " ".join(text[start:end].split())
        change = f"`{was}` becomes `{put}`" if put else f"`{was}` is dropped"
        line = text.count("\n", 0, start) + 1
        if changed != text:
            made.setdefault(changed, Mutant(script, line, lines[line - 1].strip(), change, changed))
    return list(made.values())


class NameUses(NamedTuple):
    """The names in a script that are variables: those that it declares, and all that it uses."""

    declared: set[str]
    used: set[str]


def name_uses(text: str) -> NameUses:
    """Find the variables of a script; scopes are not distinguished."""
    tokens = _tokens(text)
    declared: set[str] = set()
    used: set[str] = set()
    is_declaring = False
    brackets: list[str] = []
    for i, token in enumerate(tokens):
        before = tokens[i - 1].text if i else ""
        after = tokens[i + 1].text if i + 1 < len(tokens) else ""
        if token.text in _OPENING:
            brackets.append(token.text)
        elif token.text in _CLOSING:
            brackets.pop()
        if token.text in {"local", "for", "function"}:
            is_declaring = True
        elif token.kind == "name" and token.text not in _WORDS:
            is_field = before in {".", ":"} or (after == "=" and brackets[-1:] == ["{"])
            if is_declaring:
                declared.add(token.text)
                is_declaring = after in {",", "("} or (before == "(" and after == ")")
            elif not is_field:
                used.add(token.text)
        elif token.text not in {",", "(", "..."}:
            is_declaring = False
    return NameUses(declared, used)


def _tokens(text: str) -> list[Token]:
    return [
        Token(str(found.lastgroup), found.group(), *found.span())
        for found in _TOKEN.finditer(text)
        if found.lastgroup != "comment"
    ]


Edit = tuple[int, int, str]


def _conditions(tokens: Sequence[Token]) -> Iterator[Edit]:
    """The condition of each `if` and `elseif`, as true and as false."""
    for i, token in enumerate(tokens):
        if token.text in {"if", "elseif"} and token.kind == "name":
            last = next(j for j in range(i, len(tokens)) if tokens[j].text == "then")
            for value in ("true", "false"):
                yield tokens[i + 1].start, tokens[last - 1].end, value


def _dropped_operands(tokens: Sequence[Token]) -> Iterator[Edit]:
    """Each operand of `and` and `or`; a default, as in `count or 0`, stays."""
    for i, token in enumerate(tokens):
        if token.kind == "name" and token.text in {"and", "or"}:
            first, last = _left(tokens, i), _right(tokens, i)
            if token.text == "or" and _is_default(tokens[i + 1 : last + 1]):
                continue
            yield tokens[first].start, tokens[i + 1].start, ""
            yield tokens[i - 1].end, tokens[last].end, ""


def _swapped(tokens: Sequence[Token], text: str) -> Iterator[Edit]:
    """Each comparison, with the sign that differs least."""
    for i, token in enumerate(tokens):
        if token.kind == "sign" and token.text in _SWAPS:
            start, end = tokens[_left(tokens, i)].start, tokens[_right(tokens, i)].end
            yield start, end, text[start : token.start] + _SWAPS[token.text] + text[token.end : end]


def _left(tokens: Sequence[Token], operator: int) -> int:
    """Where the operand left of an operator begins."""
    depth, at = 0, operator - 1
    while at >= 0:
        word = tokens[at].text
        depth += (word in _CLOSING) - (word in _OPENING)
        if depth < 0 or (depth == 0 and word in _BOUNDS):
            break
        at -= 1
    return at + 1


def _right(tokens: Sequence[Token], operator: int) -> int:
    """Where the operand right of an operator ends."""
    depth, at = 0, operator + 1
    while at < len(tokens):
        word = tokens[at].text
        depth += (word in _OPENING) - (word in _CLOSING)
        if depth < 0 or (depth == 0 and (word in _BOUNDS or _begins_statement(tokens, at, operator))):
            break
        at += 1
    return at - 1


def _begins_statement(tokens: Sequence[Token], at: int, operator: int) -> bool:
    """Return whether a name follows no operator, so that the expression before it is complete."""
    before = tokens[at - 1]
    if at - 1 == operator or tokens[at].kind != "name":
        return False
    return before.text in _CLOSING or (before.kind != "sign" and before.text != "not")


def _is_default(operand: Sequence[Token]) -> bool:
    words = [token.text for token in operand]
    is_literal = len(operand) == 1 and (operand[0].kind != "name" or words[0] in {"nil", "true", "false"})
    return is_literal or words == ["{", "}"]

"""Regular expressions of sessions, guards and evaluations, whose time does not grow exponentially. Pure."""

from __future__ import annotations

import re
from functools import cache

from pydantic_core import SchemaError, SchemaValidator, ValidationError, core_schema


@cache
def compile_pattern(pattern: str) -> SchemaValidator:
    """Return the check of a regular expression, whose time grows with the length of the text only.

    Raises:
        ValueError: The expression is invalid, or looks around or back.
    """
    try:
        return SchemaValidator(core_schema.str_schema(pattern=pattern, regex_engine="rust-regex"))
    except SchemaError:
        raise ValueError("must be a regular expression without look-around and back-references") from None


def matches(pattern: str, text: str) -> bool:
    """Return whether an expression, which must be valid, matches anywhere in a text."""
    try:
        compile_pattern(pattern).validate_python(text)
    except ValidationError:
        return False
    return True


#: One part of an expression: an escaped character, the beginning of a group, a repetition, or another character.
_PART = re.compile(
    r"\\[pPxuUbB]\{[^}]*\}|\\.|\((?:\?[^:)>]*[:>]?)?|\{\s*(\d*)\s*(?:,\s*(\d*)\s*)?\}|.", re.DOTALL
)


@cache
def pattern_size(pattern: str) -> int:
    """Return the approximate number of states of a valid expression, its repetitions written out."""
    outer: list[int] = []
    total = last = position = 0
    while match := _PART.match(pattern, position):
        part, position = match[0], match.end()
        if part.startswith("("):
            outer.append(total)
            total = last = 0
        elif part == ")":
            last, total = total, (outer.pop() if outer else 0) + total
        elif part.startswith("{") and len(part) > 1:
            more = last * (max(int(match[1] or 0), int(match[2] or 0), 1) - 1)
            total, last = total + more, last + more
        elif part not in ("*", "+", "?", "|"):
            position = _class_end(pattern, position) if part == "[" else position
            total, last = total + 1, 1
    return max(total, 1)


def _class_end(pattern: str, position: int) -> int:
    """Return the end of the class of characters that begins before `position`; classes may contain others."""
    depth, first = 1, position + pattern.startswith("^", position)
    position = first
    while position < len(pattern):
        sign = pattern[position]
        position += 2 if sign == "\\" else 1
        if sign == "[":
            depth += 1
        elif sign == "]" and position > first + 1:
            depth -= 1
            if not depth:
                break
    return position

"""Regular expressions of sessions, guards and evaluations, whose time does not grow exponentially."""

from __future__ import annotations

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

"""Masking of private values in logs, events and viewers, by the parameter's name and by its form.

Memory itself, and the agents that a turn belongs to, see values as they are.

Source: dialog state document, section 6 ("Sensitive Data Handling").
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from pydantic import JsonValue

MASK = "****"
#: Characters at the end that stay readable, so that people know which one is meant.
_KEPT = 4

#: Parameters that are private with any value.
_PRIVATE_NAME = re.compile(
    r"phone|mobile|msisdn|whatsapp|e?mail|account|iban|card|recipient|passport|ssn|tax_?id"
    r"|passw(or)?d|secret|token|api_?key|credential|(^|_)(tel|pin|cvv|cc|bcc|to_address|from_address)($|_)",
    re.IGNORECASE,
)

#: Forms that are private anywhere in a text. The first match decides, so that a
#: date and a time are not taken for a telephone number.
_FORMS = re.compile(
    r"(?P<plain>\b\d{4}-\d\d-\d\d(?:[T ]\d\d:\d\d(?::\d\d(?:\.\d+)?)?Z?)?(?!\d))"
    r"|(?P<email>[\w.+%-]+@[\w-]+(?:\.[\w-]+)+)"
    r"|(?P<iban>\b[A-Za-z]{2}\d{2}(?: ?[A-Z0-9]{4}){2,7}(?: ?[A-Z0-9]{1,3})?\b"
    r"|\b[a-z]{2}\d{2}[a-z0-9]{11,30}\b)"
    r"|(?P<number>(?<![\d.])\+?\d(?:[\s().\u00ad\u2010-\u2015\u2212-]{0,2}\d){7,})"
)
_NO_SIGN = re.compile(r"[^A-Za-z0-9]")
#: Digits from which a whole number looks like an account and not like an amount.
_LONG_NUMBER = 10**9


def mask(name: str, value: JsonValue, *, private: bool = False) -> JsonValue:
    """Return `value` masked: a private value keeps its last four characters; text loses its private parts only."""
    if private or _PRIVATE_NAME.search(name):
        return _mask_all(value)
    match value:
        case str():
            return _FORMS.sub(_mask_match, value)
        case list():
            return [mask(name, part) for part in value]
        case dict():
            return {_FORMS.sub(_mask_match, key): mask(key, part) for key, part in value.items()}
        case int() | float() if abs(value) >= _LONG_NUMBER:
            return _tail(str(value) if isinstance(value, int) else f"{value:.0f}")
        case _:
            return value


def mask_parameters(
    parameters: Mapping[str, JsonValue], private: frozenset[str] = frozenset()
) -> dict[str, JsonValue]:
    """Return parameters as they may be shown; `private` names more of them."""
    return {name: mask(name, value, private=name in private) for name, value in parameters.items()}


def format_for_log(parameters: Mapping[str, JsonValue], private: frozenset[str] = frozenset()) -> str:
    """Return parameters as the document's log lines have them: `{from: Nairobi, to: London}`, masked, on one line."""
    pairs = (f"{name}: {value}" for name, value in mask_parameters(parameters, private).items())
    return "{" + " ".join(", ".join(pairs).split()) + "}"


def _mask_all(value: JsonValue) -> JsonValue:
    match value:
        case list():
            return [_mask_all(part) for part in value]
        case dict():
            return {_FORMS.sub(_mask_match, key): _mask_all(part) for key, part in value.items()}
        case None | bool():
            return value
        case _:
            text = str(value)
            return _address(text) if "@" in text else _tail(text)


def _tail(text: str) -> str:
    # Of a short one even four characters would be most of it.
    return MASK + (text[-_KEPT:] if len(text) >= 2 * _KEPT else "")


def _address(text: str) -> str:
    return f"{MASK}@{text.rpartition('@')[2]}"


def _mask_match(matched: re.Match[str]) -> str:
    text = matched[0]
    match matched.lastgroup:
        case "plain":
            return text
        case "email":
            return _address(text)
        case _:
            return _tail(_NO_SIGN.sub("", text))

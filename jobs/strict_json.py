"""Reader of strict JSON: a duplicate key is an error, because one of the two values would be lost, and so is a number
that is not finite.
"""

from __future__ import annotations

import json
import math
import re
from collections import Counter
from itertools import islice
from typing import NoReturn

from .strict_yaml import MAX_VALUES, OverLimit

#: The character before each key and value of a JSON text, or a whole string, even if it is not terminated.
_JSON_TOKEN = re.compile(r'[\[{,:]|"(?:[^"\\]++|\\.)*+"?', re.DOTALL)


def read_json(text: str) -> object:
    """Return the data of a JSON text.

    Raises:
        OverLimit: It has too many values.
        ValueError: The text is not JSON (`json.JSONDecodeError`), a key is repeated, or a number is not finite or too long.
        RecursionError: It is nested too deep.
    """
    if _has_too_many_values(text):
        raise OverLimit(f"must contain at most {MAX_VALUES:,} keys and values", None)
    return json.loads(
        text, object_pairs_hook=_without_repeats, parse_constant=_no_constant, parse_float=_finite_float
    )


def _has_too_many_values(text: str) -> bool:
    """Return whether a JSON text has more keys and values than allowed, without building them."""
    separators = (it for it in _JSON_TOKEN.finditer(text) if it[0][0] != '"')
    return next(islice(separators, MAX_VALUES, None), None) is not None


def _without_repeats(pairs: list[tuple[str, object]]) -> dict[str, object]:
    table = dict(pairs)
    if len(table) < len(pairs):
        keys = Counter(key for key, _ in pairs)
        repeated = next(key for key, count in keys.items() if count > 1)
        raise ValueError(f"duplicate key {repeated!r}")
    return table


def _finite_float(text: str) -> float:
    if math.isinf(value := float(text)):
        raise ValueError(f"the number {text[:50]} is too large")
    return value


def _no_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not a number")

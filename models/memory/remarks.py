"""Memory remarks in plain text: the form for models without structured output.

    SERVICE: travel              what the user speaks of
    REMEMBER from: Nairobi       a parameter the user stated or changed
    FORGET: from, to             parameters the user wants forgotten

One line each, in capitals. A value that begins with a bracket or a brace is JSON. Read only in
sessions with memory.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable

from pydantic import JsonValue

from ..errors import InvalidInput
from .learned import Learned
from .values import MAX_NAME, check_name, check_value

_LINE = re.compile(r"[*_`]*(SERVICE|REMEMBER|FORGET)\b[*_`]*\s*([^:=]{0,99})[:=][*_`]*\s*(.*)")
_AROUND = "*_`\"' "
#: Remarks of one answer that are read.
_MOST = 100


def read_remarks(lines: Iterable[str]) -> Learned | None:
    """Return what the lines of an answer ask to remember; None if there is no such line."""
    service: str | None = None
    parameters: dict[str, JsonValue] = {}
    forget: list[str] = []
    for line in lines:
        found = _LINE.match(line)
        if found is None:
            continue
        word, name, text = found[1], found[2].strip(_AROUND), found[3].strip()
        match word:
            case "SERVICE" if not name:
                service = text.strip(_AROUND).casefold()[:32] or service
            case "FORGET" if not name:
                forget += [part.strip(_AROUND)[:MAX_NAME] for part in text.split(",") if part.strip(_AROUND)]
            case "REMEMBER" if name and len(parameters) < _MOST:
                _add_remark(parameters, name, text)
    learned = Learned(service=service, parameters=parameters, forget=tuple(forget[:_MOST]))
    return learned or None


def _add_remark(parameters: dict[str, JsonValue], name: str, text: str) -> None:
    """Keep one remark; one that cannot be kept is no remark."""
    try:
        value: JsonValue = json.loads(text) if text[:1] in ("[", "{") else text.strip(_AROUND)
        check_value(check_name(name), value)
    except (ValueError, InvalidInput, RecursionError):
        return
    parameters[name] = value

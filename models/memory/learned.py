"""The memory as a session sees it, and what a turn may add to it, also as remarks in plain text.

    SERVICE: travel              the service that the user speaks of
    REMEMBER from: Nairobi       a parameter that the user stated or changed
    FORGET: from, to             parameters that the user wants forgotten

Remarks are for models without structured output: one line each, in capitals. A value that begins with a
bracket or a brace is JSON.

Source: dialog state document, section 2 (`execute`: `parameters`, `extracted_context`).
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from functools import partial
from typing import Annotated, Any, TypedDict

from pydantic import BeforeValidator, Field, JsonValue

from ..errors import InvalidInput
from ..protocol.base import JsonObject, NonBlank, ProtocolObject
from ..text.redact import excerpt
from .masking import mask
from .parameters import MAX_NAME, check_name, check_value, room_key, user_key
from .services import Service, find_service

#: Maximum characters of a user's sentence.
MAX_SENTENCE = 32_768

_Name = Annotated[NonBlank, Field(max_length=MAX_NAME)]


class Learned(ProtocolObject):
    """Parameters that an agent took from the user's words; stored after its turn is written."""

    #: The service it is about; None: the one the turn is shown. Naming one selects it.
    service: str | None = Field(default=None, max_length=32)
    #: Parameters the user stated.
    parameters: JsonObject = Field(default_factory=dict, max_length=100)
    #: Parameters the agent concluded.
    inferred: JsonObject = Field(default_factory=dict, max_length=100)
    #: Name -> 0..1, where the agent knows better than 1 for what was stated and 0.7 for what was inferred.
    confidence: dict[str, Annotated[float, Field(ge=0, le=1)]] = Field(default_factory=dict, max_length=200)
    #: Names of parameters the user wants forgotten.
    forget: tuple[_Name, ...] = Field(default=(), max_length=100)
    #: What is wrong with lines of the answer that could not be read; never stored.
    unreadable: tuple[str, ...] = Field(default=(), max_length=100, exclude_if=lambda value: not value)

    def __bool__(self) -> bool:
        return bool(self.parameters or self.inferred or self.forget or self.service)


class MemoryUpdate(ProtocolObject):
    """What the memory stores of a written turn."""

    #: The turn's stamp.
    at_ms: int
    #: The service that the session's own message is about; None: none was known when the turn began.
    about: str | None = None
    learned: Learned | None = None


class MemoryOptions(ProtocolObject):
    """User whose memory a session uses, and the parameters of the session's own message."""

    #: None: no user; the memory is discarded with the session.
    user_id: Annotated[str | None, BeforeValidator(partial(user_key, field=""))] = None
    room_id: Annotated[str | None, BeforeValidator(partial(room_key, field=""))] = None
    #: None: the one spoken of last.
    service: str | None = None
    #: Parameters in the message that the session is about: the highest priority.
    said: JsonObject = Field(default_factory=dict, max_length=100)
    #: The message itself, from which the registered parser takes the parameters; None: `said` has them.
    sentence: Annotated[NonBlank, Field(max_length=MAX_SENTENCE)] | None = Field(
        default=None, exclude_if=lambda value: value is None
    )
    #: Values of parameters that were never stated.
    defaults: JsonObject = Field(default_factory=dict, max_length=100)
    #: A parameter of less confidence is asked for.
    ask_below: float = Field(default=0.5, ge=0, le=1)


class MemoryChoices(TypedDict, total=False):
    """Memory options of a submission; see `MemoryOptions`."""

    #: User of the session: a number or text. Its turns remember parameters for this user and room.
    user_id: str | int | None
    #: Where: a number or text; by default the conversation, which is the thread or else the session.
    room_id: str | int | None
    #: The service that parameters are for: travel, payment, search, scheduling, email, or a registered one.
    service: str | None
    #: Parameters of the message the session is about; or the message, which the registered parser reads.
    said: Mapping[str, JsonValue] | str | None
    #: Parameters that hold where nothing was said, now or before.
    defaults: Mapping[str, JsonValue] | None


def memory_options(choices: Mapping[str, Any], *, conversation: str) -> MemoryOptions | None:
    """Return the options from a submitter's choices; None: there are no choices.

    Raises:
        InvalidInput: A value breaks a rule.
    """
    made = {name: choices[name] for name in MemoryChoices.__annotations__ if choices.get(name) is not None}
    if not made:
        return None
    if isinstance(said := made.get("said"), str):
        if not said.strip() or len(said) > MAX_SENTENCE:
            raise InvalidInput(
                "said", said, f"must be parameters, or a message of 1 to {MAX_SENTENCE} characters"
            )
        made["sentence"] = made.pop("said")
    if "service" in made:
        service = find_service(made["service"])
        for part in ("said", "defaults"):
            if isinstance(made.get(part), Mapping):
                made[part] = _typed(service, made[part], part)
    return MemoryOptions(**{"room_id": conversation, **made})


def _typed(service: Service, parameters: Mapping[str, object], part: str) -> dict[str, JsonValue]:
    good, bad = service.split_valid(parameters)
    if bad:
        raise bad[0].within(part)
    return good


_LINE = re.compile(r"[*_`]*(SERVICE|REMEMBER|FORGET)\b[*_`]*\s*([^:=]{0,99})[:=][*_`]*\s*(.*)")
_AROUND = "*_`\"' "
#: Maximum remarks of one kind that are read in one answer.
MAX_REMARKS = 100
#: Maximum characters of a value in a message about it.
MAX_SHOWN = 100


def has_remarks(lines: Iterable[str]) -> bool:
    """Return whether any line asks to remember something."""
    return any(_LINE.match(line) for line in lines)


def read_remarks(lines: Iterable[str]) -> Learned | None:
    """Return what the lines of an answer ask to remember; None if there is no such line.

    Lines that cannot be read are reported in `unreadable`.
    """
    service: str | None = None
    parameters: dict[str, JsonValue] = {}
    forget: list[str] = []
    faults: list[str] = []
    for line in lines:
        line_match = _LINE.match(line)
        if line_match is None:
            continue
        word, name, text = line_match[1], line_match[2].strip(_AROUND), line_match[3].strip()
        match word:
            case "SERVICE" if not name:
                service = text.strip(_AROUND).casefold()[:32] or service
            case "FORGET" if not name:
                forget += [part.strip(_AROUND)[:MAX_NAME] for part in text.split(",") if part.strip(_AROUND)]
            case "REMEMBER" if name and name not in parameters and len(parameters) >= MAX_REMARKS:
                faults.append(f"REMEMBER {name}: must be one of at most {MAX_REMARKS} lines in one answer")
            case "REMEMBER" if name:
                _add_remark(parameters, faults, name, text)
    if len(forget) > MAX_REMARKS:
        faults.append(f"FORGET: must have at most {MAX_REMARKS} names in one answer (got {len(forget)})")
    learned = Learned(
        service=service,
        parameters=parameters,
        forget=tuple(forget[:MAX_REMARKS]),
        unreadable=tuple(faults[:MAX_REMARKS]),
    )
    return learned if learned or learned.unreadable else None


def _add_remark(parameters: dict[str, JsonValue], faults: list[str], name: str, text: str) -> None:
    """Add one remark, or what is wrong with it."""
    shown = mask(name, excerpt(text, MAX_SHOWN))
    try:
        value: JsonValue = json.loads(text) if text[:1] in ("[", "{") else text.strip(_AROUND)
        check_value(check_name(name), value)
    except InvalidInput as error:
        faults.append(f"REMEMBER {name[:MAX_NAME]}: {error.rule}")
    except (ValueError, RecursionError):
        faults.append(f"REMEMBER {name[:MAX_NAME]}: must be text, or JSON that is complete (got {shown})")
    else:
        parameters[name] = value

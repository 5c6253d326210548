"""Text that is safe to show in error messages, logs and terminals.

Values on one line, short and without secrets; JSON without control characters; the origin of an agent's
exception without values of variables.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Annotated, Any
from urllib.parse import unquote

from pydantic import BeforeValidator

#: Characters of a value's repr that a message shows.
MAX_SHOWN = 80
#: Characters of a whole message.
MAX_LINE = 2_000

#: Characters of an excerpt.
EXCERPT = 120

HIDDEN = "***"
_SECRET_FIELD = re.compile(
    r"passw(or)?d|secret|api_?key|credential|private_?key|token_env|authorization", re.IGNORECASE
)
_WORD = re.compile(r"\S+")
_WHITESPACE = re.compile(r"\s")
# In the options after the `?` of a URL.
_OPTION = re.compile(r"(?P<start>[?&;](?P<name>[^=?&;\s]*)=)[^&\s]+")
_SECRET_OPTION = re.compile(r"passw|secret|token|api_?key|credential", re.IGNORECASE)


class Absent(Enum):
    """The value of a field that is not there."""

    ABSENT = "nothing"


ABSENT = Absent.ABSENT


def without_password(text: str) -> str:
    """Return `text` with the password of every URL in it replaced by `***`, at any place in the URL.

    A password may hold any character, so the function hides too much rather than too little.
    """
    if "@" in text:
        text = _WORD.sub(_without_user_password, text)
    return _OPTION.sub(_without_option, text) if "=" in text else text


def _without_user_password(word: re.Match[str]) -> str:
    """Hide the password in `user:password@host`, with or without a scheme before it."""
    url = word[0]
    end = max(url.rfind("@"), 0)
    scheme = url.find("://", 0, end)
    colon = url.find(":", scheme + 3 if scheme >= 0 else 0, end)
    return url if colon < 0 else f"{url[: colon + 1]}{HIDDEN}{url[end:]}"


def _without_option(option: re.Match[str]) -> str:
    return f"{option['start']}{HIDDEN}" if names_secret_option(option["name"]) else option[0]


def names_secret_option(name: str) -> bool:
    """Return whether an option of a URL holds a secret; its name may be percent-encoded."""
    return _SECRET_OPTION.search(unquote(name)) is not None


def hides_password_whole(url: str) -> bool:
    """Return whether `without_password` hides the whole password of a URL: it ends at a blank."""
    return _WHITESPACE.sub("_", without_password(url)) == without_password(_WHITESPACE.sub("_", url))


_CREDENTIAL = re.compile(
    r"(?P<scheme>\b(?:bearer|basic)\s+)[\w.~+/=-]+"
    r"|\b(?:sk|pk|rk|gsk|xai|ghp|hf)[-_][\w-]{8,}"
    r"|(?P<name>\b(?:api[-_ ]?key|token|password|secret)\b[\"']?\s*[=:]\s*)[\"']?[^\s\"',;]+",
    re.IGNORECASE,
)


def scrub_secrets(text: str, secrets: Iterable[str]) -> str:
    """Return `text` without the given secrets, URL passwords and possible credentials."""
    for secret in secrets:
        if secret:
            text = text.replace(secret, HIDDEN)
    return _CREDENTIAL.sub(
        lambda hit: f"{hit['scheme'] or hit['name'] or ''}{HIDDEN}", without_password(text)
    )


def one_line(text: str) -> str:
    """Return `text` cut to `MAX_LINE`; every character that is not visible becomes a blank."""
    cut = text if len(text) <= MAX_LINE else f"{text[: MAX_LINE - 3]}..."
    return cut if cut.isprintable() else "".join(c if c.isprintable() else " " for c in cut)


def names_secret(field: str) -> bool:
    """Return whether a field of this name holds a secret."""
    return _SECRET_FIELD.search(field) is not None


def redact_value(value: object, *, field: str = "") -> str:
    """Return `value` in the form for a message about `field`.

    Scalars are shown as their repr, mappings and collections by their size,
    anything else by its type: their content may be long, or secret, or fail to print.
    """
    if names_secret(field):
        return HIDDEN
    if value is ABSENT:
        return ABSENT.value
    plain = value.value if isinstance(value, Enum) else value
    return _described(plain)


def _described(value: object) -> str:
    match value:
        case str() | bytes():
            return _cut(value)
        case None | bool() | float():
            return repr(value)
        case int():
            return repr(value) if abs(value) < 10**MAX_SHOWN else "a very large integer"
        case Mapping():
            return f"a mapping of {len(value)}" if value else "{}"
        case Collection():
            return f"a {type(value).__name__} of {len(value)}" if value else "[]"
        case _:
            return f"a {type(value).__name__}"


def _cut(value: str | bytes) -> str:
    head = value[:4096]
    text = repr(without_password(head) if isinstance(head, str) else head)
    return text if len(text) <= MAX_SHOWN else f"{text[: MAX_SHOWN - 3]}..."


def excerpt(text: str, length: int = EXCERPT) -> str:
    """Return the beginning of a text, in one line of at most `length` characters."""
    line = " ".join(text[: 4 * length].split())
    return line if len(line) <= length else line[: length - 1] + "…"


#: DEL and C1 controls (U+009B starts terminal commands), controls of the writing direction, separators of lines and
#: paragraphs, invisible formatting and tags. JSON itself escapes the controls below U+0020.
_UNSAFE = re.compile(
    "[\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb\U000e0000-\U000e007f]"
)


def json_text(data: object, *, indent: int | None = None) -> str:
    r"""Return `data` as JSON; other scripts stay readable, unsafe characters are written as `\uXXXX`.

    Lone surrogates, which UTF-8 cannot carry, become question marks.

    Args:
        data: Anything that `json.dumps` takes.
        indent: Spaces of each level; None writes one line.
    """
    text = json.dumps(data, ensure_ascii=False, indent=indent)
    return _UNSAFE.sub(_escape, text.encode(errors="replace").decode())


def _escape(character: re.Match[str]) -> str:
    return json.dumps(character[0])[1:-1]


@dataclass(frozen=True, slots=True)
class ErrorOrigin:
    """The innermost frame of an exception in the agent's own code; holds no values of variables.

    Attributes:
        error_type: Class name of the exception.
        file: Path of the source file below its import root, such as `my_agents/tools.py`.
        line: Line number, from 1.
        traceback: Text for the log of the worker, bounded, without secrets.
    """

    error_type: str
    file: str
    line: int
    traceback: str

    @property
    def place(self) -> str:
        """`file:line`."""
        return f"{self.file}:{self.line}"


#: Sequences of terminals: colours and cursor (CSI), titles (OSC), and others of two characters.
_TERMINAL = re.compile(
    "(?:\x1b\\[|\x9b)[0-?]*[ -/]*[@-~]|(?:\x1b\\]|\x9d)[^\x07\x1b\x9c\x9d\n]*(?:\x07|\x1b\\\\|\x9c)|\x1b[@-_]"
)
#: Controls other than tab, line feed and carriage return, and controls of the writing direction.
_CONTROLS = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]")


def clean_text(text: str) -> str:
    """Return `text` without controls and terminal sequences.

    Lone surrogates become U+FFFD, and the halves of a pair are joined. A carriage return alone becomes a line feed.
    """
    if not text.isascii():
        text = text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    if "\r" in text:
        text = re.sub(r"\r(?!\n)", "\n", text)
    return text if text.isprintable() else _CONTROLS.sub("", _TERMINAL.sub("", text))


def clean_data(data: Any) -> Any:
    """Return JSON data with all its texts cleaned, names of fields included."""
    match data:
        case str():
            return clean_text(data)
        case dict():
            return {clean_data(name): clean_data(value) for name, value in data.items()}
        case list():
            return [clean_data(item) for item in data]
        case _:
            return data


#: Text that is cleaned when it is read: what an agent paid for is not lost because of one character.
CleanText = Annotated[
    str, BeforeValidator(lambda given: clean_text(given) if isinstance(given, str) else given)
]

"""Conversion of an agent's exceptions to errors that may be shown: one short line without secrets, and an
origin.

The origin is the place in the agent's own code where the exception was raised.
"""

from __future__ import annotations

import sysconfig
import traceback
from collections.abc import Callable, Iterable, Iterator
from functools import cache
from pathlib import PurePath
from types import FrameType

from ...models.errors import AgentError, AgentFailed
from ...models.text.redact import ErrorOrigin, one_line, scrub_secrets

_PACKAGE = __name__.partition(".")[0]
#: Maximum number of frames of a logged traceback (the innermost), characters of one entry, and of the text.
MAX_FRAMES = 30
MAX_ENTRY = 1_000
MAX_TRACEBACK = 8_000
#: Maximum characters of a file's path.
MAX_FILE = 200

Frame = tuple[FrameType, int]


def find_origin(error: BaseException, *, redact: Callable[[str], str]) -> ErrorOrigin | None:
    """Return where `error` was raised.

    Args:
        error: A caught exception with its traceback.
        redact: Removes secrets from a text.

    Returns:
        The origin; None if all frames belong to Symposia or the standard library.
    """
    innermost = _innermost(list(_frames(error)))
    if innermost is None:
        return None
    frame, line = innermost
    return ErrorOrigin(type(error).__name__, _relative_path(frame), line, _format_traceback(error, redact))


def _frames(error: BaseException) -> Iterator[Frame]:
    """Return frames outside of Symposia and the standard library, outermost first."""
    for frame, line in traceback.walk_tb(error.__traceback__):
        if not (is_own_frame(frame) or _is_standard(frame.f_code.co_filename)):
            yield frame, line


def _innermost(frames: list[Frame]) -> Frame | None:
    """Return the last frame of the user's code, or of the installed package that contains the agent."""
    own = [frame for frame in frames if not _is_installed(frame[0].f_code.co_filename)]
    if own or not frames:
        return own[-1] if own else None
    package = _module(frames[0][0]).partition(".")[0]
    return [frame for frame in frames if _module(frame[0]).partition(".")[0] == package][-1]


def _module(frame: FrameType) -> str:
    return str(frame.f_globals.get("__name__", ""))


def is_own_frame(frame: FrameType) -> bool:
    """Return whether a frame runs code of Symposia."""
    return _module(frame).partition(".")[0] == _PACKAGE


@cache
def _folders(*names: str) -> tuple[str, ...]:
    paths = sysconfig.get_paths()
    return tuple(f"{paths[name]}/" for name in names)


def _is_installed(file: str) -> bool:
    return file.startswith(_folders("purelib", "platlib"))


def _is_standard(file: str) -> bool:
    is_library = file.startswith(_folders("stdlib", "platstdlib")) and "-packages/" not in file
    return is_library or file.startswith("<frozen ")


def _relative_path(frame: FrameType) -> str:
    """Return the path relative to the import folder of the module: it must not show paths of the machine."""
    path = PurePath(frame.f_code.co_filename)
    module = _module(frame)
    parts = 1 if module == "__main__" else module.count(".") + 1 + (path.name == "__init__.py")
    return one_line("/".join(path.parts[-parts:]))[-MAX_FILE:]


def _format_traceback(error: BaseException, redact: Callable[[str], str]) -> str:
    details = traceback.TracebackException.from_exception(error, limit=-MAX_FRAMES, capture_locals=False)
    # Secrets are removed before the text is cut: a divided secret would not be found.
    entries = [redact(entry) for entry in details.format()]
    entries = [entry if len(entry) <= MAX_ENTRY else f"{entry[:MAX_ENTRY]}...\n" for entry in entries]
    return "".join(entries)[-MAX_TRACEBACK:].rstrip()


#: Maximum characters of the text of a failure.
MAX_ERROR_CHARS = 300


def scrub_text(text: str, *, secrets: Iterable[str] = ()) -> str:
    """Return `text` as one short line without the given secrets, URL passwords and possible credentials."""
    line = " ".join(scrub_secrets(text, secrets).split()).encode("utf-8", "replace").decode()
    return line if len(line) <= MAX_ERROR_CHARS else f"{line[: MAX_ERROR_CHARS - 3]}..."


def _read_message(error: BaseException) -> str:
    try:
        return str(error)
    except Exception:  # noqa: BLE001 - `__str__` is code of the agent
        return "its message cannot be read"


def to_agent_error(
    error: BaseException,
    *,
    retryable: bool = True,
    secrets: Iterable[str] = (),
    cause: BaseException | None = None,
) -> AgentError:
    """Convert `error` to an `AgentError`; an `AgentError` is returned without secrets.

    The text begins with the class of the original and ends with its place. SystemExit and KeyboardInterrupt are failures, too: an
    agent cannot end the worker. The origin is that of `cause`, by default `error`.
    """
    hidden = tuple(secrets)
    origin = find_origin(cause or error, redact=lambda text: scrub_secrets(text, hidden))
    if isinstance(error, AgentError):
        error.args = (scrub_secrets(_read_message(error), hidden),)
        error.origin = error.origin or origin
        return error
    text = scrub_text(_read_message(error), secrets=hidden)
    location = "" if origin is None else f" ({origin.place})"
    failed = AgentFailed(f"{type(error).__name__}{': ' if text else ''}{text}{location}", retryable=retryable)
    failed.origin, failed.original = origin, cause or error
    return failed

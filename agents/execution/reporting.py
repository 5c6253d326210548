"""The exception of an agent as error trackers may show it: Celery's signal `task_failure`, and Sentry through it.

It is the exception itself, or, if its texts contain secrets, a copy of it without them. Its traceback has no frames of
Symposia: error trackers show the variables of frames, and those of Symposia hold the dialog.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from types import TracebackType

from ...models.text.redact import scrub_secrets
from .failures import MAX_TRACEBACK, is_own_frame

#: Maximum number of exceptions that are followed as causes, contexts or members of a group.
MAX_EXCEPTIONS = 30


class RedactedException(Exception):
    """Copy of an exception with its class name and traceback, and with a text without secrets."""


def exception_to_report(error: BaseException, secrets: Iterable[str]) -> BaseException:
    """Return `error` without frames of Symposia, or a copy of it without secrets if one of its texts has any.

    Args:
        error: The exception that the agent raised; the tracebacks of its chain are changed.
        secrets: Texts that must not be shown.
    """
    hidden, chain = tuple(secrets), list(_chain(error))
    for member in chain:
        member.__traceback__ = _without_own_frames(member.__traceback__)
    texts = [text for member in chain for text in (_text(member), _text(member, repr))]
    is_clean = len(chain) < MAX_EXCEPTIONS and all(text == scrub_secrets(text, hidden) for text in texts)
    return error if is_clean else _copy_chain(chain, hidden)


def _chain(error: BaseException) -> Iterator[BaseException]:
    """Yield the exception and those that error trackers show with it, each once."""
    pending, seen = [error], set[int]()
    while pending and len(seen) < MAX_EXCEPTIONS:
        member = pending.pop(0)
        if id(member) in seen:
            continue
        seen.add(id(member))
        yield member
        pending += [linked for linked in (member.__cause__, member.__context__) if linked is not None]
        pending += member.exceptions if isinstance(member, BaseExceptionGroup) else ()


def _copy_chain(chain: list[BaseException], hidden: tuple[str, ...]) -> BaseException:
    copies = {id(member): _copy(member, hidden) for member in chain}
    for member in chain:
        copy = copies[id(member)]
        # A cause or context beyond the limit is left out.
        copy.__cause__ = copies.get(id(member.__cause__))
        copy.__context__ = copies.get(id(member.__context__))
        copy.__suppress_context__ = member.__suppress_context__
    return copies[id(chain[0])]


def _copy(error: BaseException, hidden: tuple[str, ...]) -> RedactedException:
    kind = type(error)
    names = {"__module__": kind.__module__, "__qualname__": kind.__qualname__}
    copy: RedactedException = type(kind.__name__, (RedactedException,), names)(
        scrub_secrets(_text(error), hidden)[:MAX_TRACEBACK]
    )
    copy.__traceback__ = error.__traceback__
    return copy


def _text(error: BaseException, show: Callable[[object], str] = str) -> str:
    try:
        return "\n".join([show(error), *map(str, getattr(error, "__notes__", ()))])
    except Exception:  # noqa: BLE001 - code of the agent
        return "its message cannot be read"


def _without_own_frames(traceback: TracebackType | None) -> TracebackType | None:
    frames = []
    while traceback is not None:
        if not is_own_frame(traceback.tb_frame):
            frames.append(traceback)
        traceback = traceback.tb_next
    kept: TracebackType | None = None
    for entry in reversed(frames):
        kept = TracebackType(kept, entry.tb_frame, entry.tb_lasti, entry.tb_lineno)
    return kept

"""Opening of many sessions: all submissions are checked before the first session is written, in chunks."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from itertools import islice

from ...models.errors import InvalidInput, PartlySubmitted, SessionConflict, StateError
from ...models.sessions.submission import Submission
from ..views.session_views import SessionFacts
from .opening import PlannedOpening, SessionOpener

#: Maximum number of sessions of a chunk, and characters of their texts.
CHUNK = 100
CHUNK_CHARACTERS = 4_000_000

#: Context manager for errors of the submission with this index.
NameInErrors = Callable[[int], AbstractContextManager[object]]


def open_many(
    opener: SessionOpener,
    submissions: Sequence[Submission],
    *,
    known_agents: frozenset[str],
    name_in_errors: NameInErrors,
) -> list[SessionFacts | None]:
    """Open the sessions of several submissions, in few round trips.

    Args:
        opener: Opener of sessions.
        submissions: The submissions.
        known_agents: Names that workers announced; empty if no worker announced any.
        name_in_errors: Context in which the submission with an index is checked.

    Returns:
        The facts of each session; None: it exists already with the same content.

    Raises:
        InvalidInput: One line with field, value and rule; nothing was written.
        ConversationError: A session may not run in its task, or not write to its conversation; nothing was written.
        SessionConflict: An id is taken by a session with other content; nothing was written.
        PartlySubmitted: Some sessions were submitted, others not.
        RedisUnavailable: Nothing was written.
    """
    planned = []
    for index, submission in enumerate(submissions):
        with name_in_errors(index):
            planned.append(opener.plan_opening(submission, known_agents=known_agents))
    _check_ids(planned, name_in_errors)
    _check_conflicts(opener, planned, name_in_errors)
    facts: list[SessionFacts | None] = []
    for chunk in _chunks(planned):
        rest = [planned_opening.session_id for planned_opening in planned[len(facts) + len(chunk) :]]
        before = [planned_opening.session_id for planned_opening in planned[: len(facts)]]
        ids = [planned_opening.session_id for planned_opening in chunk]
        try:
            written = opener.write(chunk)
        except StateError as error:
            raise PartlySubmitted(submitted=before, unknown=ids, missing=rest, cause=error) from error
        refused = {
            conflict.session_id: conflict for conflict in written if isinstance(conflict, SessionConflict)
        }
        if refused:  # another process took the id after the check
            opened = [session_id for session_id in ids if session_id not in refused]
            conflict = next(iter(refused.values()))
            raise PartlySubmitted(
                submitted=[*before, *opened], unknown=(), missing=[*refused, *rest], cause=conflict
            ) from conflict
        facts += [result for result in written if not isinstance(result, SessionConflict)]
    return facts


def _check_ids(planned: Sequence[PlannedOpening], name_in_errors: NameInErrors) -> None:
    seen: dict[str, int] = {}
    for index, planned_opening in enumerate(planned):
        first = seen.setdefault(planned_opening.session_id, index)
        if first != index:
            with name_in_errors(index):
                rule = f"must be unique in one call: the session with index {first} has the same id"
                raise InvalidInput("collab_id", planned_opening.session_id, rule)


def _check_conflicts(
    opener: SessionOpener, planned: Sequence[PlannedOpening], name_in_errors: NameInErrors
) -> None:
    done = 0
    for chunk in _chunks(planned):
        digests = opener.store.digests([planned_opening.session_id for planned_opening in chunk])
        for index, (planned_opening, digest) in enumerate(zip(chunk, digests, strict=True), done):
            if digest not in (None, planned_opening.opening.digest):
                with name_in_errors(index):
                    raise SessionConflict(planned_opening.session_id)
        done += len(chunk)


def _chunks(planned: Sequence[PlannedOpening]) -> Iterator[list[PlannedOpening]]:
    rest = iter(planned)
    while chunk := list(islice(rest, 1)):
        size = _characters(chunk[0])
        while len(chunk) < CHUNK and size < CHUNK_CHARACTERS and (more := next(rest, None)) is not None:
            chunk.append(more)
            size += _characters(more)
        yield chunk


def _characters(planned: PlannedOpening) -> int:
    return len(planned.opening.spec) + sum(map(len, planned.opening.messages))

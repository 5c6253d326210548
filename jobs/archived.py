"""The job of an archived session, which can be read but not changed."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Never, NoReturn, Self

from redis import Redis

from ..models.errors import NotLive, SessionNotFound
from ..models.protocol.dialog import Message
from ..state.following import SessionUpdate, replay
from ..state.redis.readers import PAGE, Entry, Stream, StreamReader
from ..state.redis.scripts import view_fields
from ..state.sessions.family import RegisteredChild, read_children
from ..state.sessions.records import SessionState
from ..state.sessions.steering import SessionDocuments
from ..state.sessions.store import SessionStore, items_only
from ..tasks.views.session_views import read_facts
from .collab import CollabJob
from .reading import Connections
from .result import JobResult

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ..archive.sessions.reader import ArchiveReader
    from ..models.turns.streaming import Delta, ToolEvent


class ArchivedJob(CollabJob):
    """A session that is no longer live.

    It can be read like a live one; methods that change the session or wait for it raise NotLive.
    """

    is_live = False

    def __init__(self, session_id: str, reader: ArchiveReader, connections: Connections) -> None:
        store = _ArchivedStore(connections.redis, reader)
        state = store.state(session_id)
        facts = read_facts(session_id, store.documents(session_id), state.opened_ms)
        super().__init__(facts, replace(connections, store=store))
        self._live_connections = connections
        self._streams = _ArchivedStreams(connections.redis, reader)
        self._reader = reader

    def result(
        self,
        timeout: float | None = None,  # noqa: ARG002
        *,
        raise_on_failure: bool = False,
        allow_join: bool = False,  # noqa: ARG002
    ) -> JobResult:
        """Return how the session ended. Raises NotLive if it has not."""
        if not self.state().is_final:
            raise NotLive(self.id)
        result = self._result()
        return result.raise_for_failure() if raise_on_failure else result

    def live(self, *, deltas: bool = True) -> Iterator[SessionUpdate | Delta | ToolEvent | None]:  # noqa: ARG002 - there is no live output
        """Iterate over all that happened.

        Raises:
            NotLive: It has not ended.
        """
        if not self.state().is_final:
            raise NotLive(self.id)
        return replay(self._streams, self.id)

    def stream(self, *, after: str | None = None) -> Iterator[Delta | Message]:
        """Iterate over the messages.

        Raises:
            NotLive: The session has not ended.
            InvalidInput: It has no message with the `entry_id` of `after`.
        """
        return self.messages(follow=True, after=after)

    def wait_for_question(
        self,
        timeout: float | None = None,  # noqa: ARG002
        *,
        allow_join: bool = False,  # noqa: ARG002
    ) -> None:
        """Return None: the session has ended. Raises NotLive if it has not."""
        return next(self.questions(), None)

    def questions(self, *, allow_join: bool = False) -> Iterator[Never]:  # noqa: ARG002
        """Iterate over nothing. Raises NotLive if the session has not ended."""
        if not self.state().is_final:
            raise NotLive(self.id)
        return iter(())

    def _read_attachment(self, sha256: str) -> bytes | None:
        return self._reader.attachment(self.id, sha256)

    def _registered_children(self, root: str) -> tuple[RegisteredChild, ...]:
        try:
            return read_children(self._reader.snapshot(root).fields)
        except SessionNotFound:  # the archive does not have the session at the top of the tree yet
            return super()._registered_children(root)

    def _open_job(self, session_id: str) -> Self:
        return type(self)(session_id, self._reader, self._live_connections)

    def queued_for_s(self) -> None:
        """Return None: an archived session has no queued messages."""

    def _create_steering(self, by: str, key: str | None) -> NoReturn:  # noqa: ARG002
        raise _not_live(self.state())

    def _stream_entries(self, stream: Stream, follows: bool, after: str = "0") -> Iterator[Entry]:
        if follows and not self.state().is_final:
            raise NotLive(self.id)
        return super()._stream_entries(stream, False, after)


class _ArchivedStore(SessionStore):
    """Session store that reads the archive and refuses changes."""

    def __init__(self, client: Redis, reader: ArchiveReader) -> None:
        super().__init__(client)
        self._reader = reader

    def state(self, session_id: str) -> SessionState:
        snapshot = self._reader.snapshot(session_id)
        return state_of(session_id, snapshot.fields, snapshot.turns)

    def documents(self, session_id: str) -> SessionDocuments:
        documents, fields = (
            self._reader.session(session_id).documents,
            self._reader.snapshot(session_id).fields,
        )
        coming = fields.get("next_collab"), fields.get("next_spec")
        return SessionDocuments(int(fields.get("edition", 0)), documents.collab, documents.spec, *coming)

    def start(self, session_id: str) -> str | None:
        return self._reader.snapshot(session_id).fields.get("start")

    def board(self, session_id: str) -> dict[str, str]:
        return items_only(self._reader.snapshot(session_id).board)

    def _run(self, _verb: str, session_id: str, *_args: Any, **_more: Any) -> NoReturn:  # type: ignore[override]
        raise _not_live(self.state(session_id))


class _ArchivedStreams(StreamReader):
    """Stream reader of the archive."""

    def __init__(self, client: Redis, reader: ArchiveReader) -> None:
        super().__init__(client)
        self._reader = reader

    def all(self, session_id: str, stream: Stream, *, after: str = "0") -> Iterator[Entry]:
        return self._reader.entries(session_id, stream, after=after)

    def whole(self, session_id: str, stream: Stream, *, after: str = "0") -> Iterator[Entry]:
        return self._reader.entries(session_id, stream, after=after)

    def newest_first(self, session_id: str, stream: Stream, *, page: int = 32) -> Iterator[Entry]:  # noqa: ARG002
        return self._reader.entries(session_id, stream, newest_first=True)

    def newest_page(
        self, session_id: str, stream: Stream, *, before: str | None = None, count: int = PAGE
    ) -> list[Entry]:
        return self._reader.newest_page(session_id, stream, before=before, count=count)


def parent_of(spec: Mapping[str, Any]) -> str | None:
    """Return the id of the session whose turn an archived session answers; None: it is no sub-session."""
    parent = spec.get("parent")
    return str(parent["session_id"]) if isinstance(parent, dict) else None


def _not_live(state: SessionState) -> NotLive:
    return NotLive(state.session_id, ended=state.status.value if state.is_final else None)


def state_of(session_id: str, fields: Mapping[str, str | None], turns: Mapping[str, str]) -> SessionState:
    """Return the state of a session, at its last change, from its archived fields."""
    known_fields = {name: fields.get(name) for name in view_fields()}
    return SessionState(session_id, int(fields.get("updated_ms") or 0), known_fields, turns)

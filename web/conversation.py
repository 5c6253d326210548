"""The events of one run of a session for chat protocols: texts as they grow, tool calls, questions, and the end.

AG-UI and the UI message stream have an encoder each for these events. Neither can take back text. So text that the session
has replaced ends, and the text that counts follows as another one.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Iterator
from contextlib import aclosing
from dataclasses import dataclass

from ..client.aio.jobs import AsyncCollabJob, blocking_job
from ..models.errors import ClientClosed, RedisUnavailable, SessionNotFound
from ..models.protocol.dialog import Message
from ..models.sessions.shown_status import ShownStatus, shown_status
from ..models.text.ids import derived_id
from ..models.turns.streaming import Delta
from ..models.turns.tool_uses import ToolUse, tool_uses_of
from ..state.streams.updates import UpdateCursor
from .answers import QuestionData, ResultData, SessionData, read_session
from .context import WebContext
from .events import StopFollowing
from .followed import Asked, Followed, follow_session
from .positions import record_sent


@dataclass(frozen=True, slots=True)
class TextStart:
    """A text begins."""

    id: str
    speaker: str


@dataclass(frozen=True, slots=True)
class TextMore:
    """The next words of a text."""

    id: str
    text: str


@dataclass(frozen=True, slots=True)
class TextEnd:
    """A text ends; if it is replaced, it is not part of the dialog."""

    id: str
    is_replaced: bool = False


@dataclass(frozen=True, slots=True)
class ToolCalled:
    """A tool was called, and has answered."""

    id: str
    use: ToolUse


@dataclass(frozen=True, slots=True)
class State:
    """The session as it is now."""

    session: SessionData


@dataclass(frozen=True, slots=True)
class Asks:
    """The run ends with questions: the next run of the thread answers them."""

    questions: list[QuestionData]


@dataclass(frozen=True, slots=True)
class Finished:
    """The session has ended; without a result, only the archive has it."""

    result: ResultData | None


@dataclass(frozen=True, slots=True)
class Failed:
    """The run failed; the session may continue if it was only interrupted."""

    code: str
    message: str


@dataclass(frozen=True, slots=True)
class Cancelled:
    """The session was cancelled."""


ChatEvent = TextStart | TextMore | TextEnd | ToolCalled | State | Asks | Finished | Failed | Cancelled | None


async def converse(
    context: WebContext, job: AsyncCollabJob, *, after: UpdateCursor, key: str
) -> AsyncGenerator[ChatEvent, None]:
    """Yield the events of a run until the session asks a person or has ended. None: nothing happened for a moment.

    Args:
        context: The context of the server.
        job: The session.
        after: Position to start after.
        key: Id of the run: ids of its texts differ from those of other runs of the session.
    """
    texts = _Texts(f"{job.id}:{derived_id(key)[:8]}")
    item: Followed = None
    yield await _state(context, job)
    try:
        async with aclosing(follow_session(context, job, after=after, deltas=True)) as followed:
            async for item in followed:
                for event in texts.read(item):
                    yield event
        end = await _end(context, job, item)
    except (RedisUnavailable, ClientClosed, StopFollowing, SessionNotFound):
        end = Failed("interrupted", "the stream was interrupted; the session continues")
    for event in texts.close():
        yield event
    if not isinstance(end, Failed):
        yield await _state(context, job)
    yield end


async def _state(context: WebContext, job: AsyncCollabJob) -> State:
    return State(await context.client.run(read_session, blocking_job(job)))


async def _end(
    context: WebContext, job: AsyncCollabJob, last: Followed
) -> Asks | Finished | Failed | Cancelled:
    if isinstance(last, Asked):
        await record_sent(context, job, last.position)
        return Asks([QuestionData.of(question) for question in last.questions])
    state = await job.state()
    if not state.is_final:
        return Finished(None)
    result = ResultData.of(await job.result())
    if result.ok:
        return Finished(result)
    if shown_status(result.status, result.reason) is ShownStatus.CANCELLED:
        return Cancelled()
    return Failed(result.reason, result.detail or result.reason)


class _Texts:
    """The open texts of the running turns."""

    def __init__(self, prefix: str) -> None:
        self._prefix = prefix
        #: Text so far, by turn number.
        self._open: dict[int, tuple[str, str]] = {}
        self._count = 0

    def read(self, item: Followed) -> Iterator[ChatEvent]:
        """Yield the events of what happened in the session."""
        match item:
            case Delta():
                yield from self._grow(item)
            case Message(author=str()):
                yield from self._settle(item)
            case None:
                yield None
            case _:
                pass

    def _grow(self, delta: Delta) -> Iterator[ChatEvent]:
        turn = delta.turn_number
        if delta.offset == 0:
            yield from self._replace(turn)
        if not delta.text:
            return
        if turn not in self._open:
            yield self._start(turn, delta.participant_id)
        text_id, text = self._open[turn]
        self._open[turn] = text_id, text + delta.text
        yield TextMore(text_id, delta.text)

    def _settle(self, message: Message) -> Iterator[ChatEvent]:
        for use in tool_uses_of(message):
            yield ToolCalled(f"{self._prefix}:{message.turn_number}:{use.call_id}", use)
        turn = message.turn_number or 0
        if turn in self._open and not message.content.startswith(self._open[turn][1]):
            yield from self._replace(turn)
        if turn not in self._open:
            yield self._start(turn, message.author or "")
        text_id, text = self._open.pop(turn)
        if rest := message.content[len(text) :]:
            yield TextMore(text_id, rest)
        yield TextEnd(text_id)

    def close(self) -> Iterator[ChatEvent]:
        """End the open texts: their turns have no message."""
        for turn in list(self._open):
            yield from self._replace(turn)

    def _start(self, turn: int, speaker: str) -> TextStart:
        self._count += 1
        text_id = f"{self._prefix}:{turn}:{self._count}"
        self._open[turn] = text_id, ""
        return TextStart(text_id, speaker)

    def _replace(self, turn: int) -> Iterator[ChatEvent]:
        if (found := self._open.pop(turn, None)) is not None:
            yield TextEnd(found[0], is_replaced=True)

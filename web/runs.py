"""Runs of session files that other protocols start: A2A tasks, AG-UI runs, chats.

The id of a session is random, and reserved for its caller and for the id that the protocol gives the request: a repeated
request finds the first session. A thread is a chain of sessions, each of which continues the one before. The newest one is
a claim, which one atomic step takes: of two requests that come at once, one is refused.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, field

from pydantic import JsonValue

from ..client.aio.claims import read_claim, take_claim
from ..client.aio.client import submit_read
from ..client.aio.jobs import AsyncCollabJob
from ..client.aio.request_ids import reserve_session_id
from ..config.settings import Settings
from ..jobs.questions import find_question, question_id
from ..models.attachments import Attachment
from ..models.errors import InvalidInput, LifecycleError, ReplyRefused, SessionNotFound
from ..models.identity import Caller, Scope
from ..models.sessions.submission import Submission
from ..models.text.ids import derived_id
from ..models.text.json_text import dump_json
from ..state.streams.updates import UpdateCursor
from .context import WebContext, open_job
from .positions import start_of
from .questions import open_questions, person_of
from .submissions import SubmissionBody, open_file, read_body

#: Maximum characters of an id that a protocol gives.
MAX_ID = 200
#: Seconds for which a thread waits for the submission of a session that has claimed it.
_SUBMITTING_S = 10
_MAX_RACES = 5


def check_id(field_name: str, text: str) -> str:
    """Return an id that a protocol gives.

    Raises:
        InvalidInput: It is empty, too long, or has characters that cannot be shown.
    """
    if not 0 < len(text) <= MAX_ID or not text.isprintable():
        raise InvalidInput(field_name, text[:MAX_ID], f"must be 1 to {MAX_ID} printable characters")
    return text


@dataclass(frozen=True, slots=True)
class Run:
    """What a request of another protocol runs."""

    #: Name of the protocol, such as `a2a`: ids of different protocols never mean the same.
    protocol: str
    #: Name of the session file.
    file: str
    #: Id of the thread that the caller has chosen.
    thread: str
    #: Id of the request.
    key: str
    #: What the user says; empty: nothing.
    text: str = ""
    #: Values of the inputs of the file.
    inputs: Mapping[str, JsonValue] = field(default_factory=dict)
    attachments: tuple[Attachment, ...] = ()
    tags: tuple[str, ...] = ()


async def session_of(context: WebContext, caller: Caller, protocol: str, file: str, key: str) -> str:
    """Return the id of the session of a request, which is the same for a day."""
    parts = (protocol, caller.tenant or "", caller.name, file, key)
    return await reserve_session_id(context.client, "run", *parts)


async def open_run(context: WebContext, caller: Caller, run: Run) -> tuple[AsyncCollabJob, bool]:
    """Return the session of a run, and whether this call has submitted it.

    Raises:
        Forbidden: The caller may not submit sessions.
        InvalidInput: A value breaks a rule.
        LifecycleError: The newest session of the thread has not ended.
    """
    session_id = await session_of(context, caller, run.protocol, run.file, run.key)
    try:
        return await open_job(context, caller, session_id), False
    except SessionNotFound:
        caller.require(Scope.SUBMIT)
    # Before the claim: a request that breaks a rule leaves the thread as it is.
    submission = await context.client.run(_read_run, run, session_id, caller, context.settings)
    previous = await _Thread(context, caller, run).append(session_id)
    changes = {"continues": previous} if previous else {"thread_id": derived_id(_thread_name(caller, run))}
    return await submit_read(context.client, submission.model_copy(update=changes)), True


async def open_turn(
    context: WebContext, caller: Caller, run: Run, answers: Mapping[str, str]
) -> tuple[AsyncCollabJob, UpdateCursor]:
    """Return the session of a request that names only its thread, and where its news begin.

    While the newest session of the thread asks something, the request answers it; after its end, the request starts the
    next session.

    Args:
        context: The context of the server.
        caller: The caller.
        run: The request.
        answers: Answers by the ids of their questions; empty: the text answers the first question.

    Raises:
        InvalidInput: A value breaks a rule.
        LifecycleError: An answer is given, and the thread has no session.
        ReplyRefused: The question is not open, or the newest session has not ended and asks nothing.
    """
    newest = await newest_session(context, caller, run)
    if newest is None and answers:
        raise LifecycleError("the thread has no session with this question: it has expired, or never began")
    own = await session_of(context, caller, run.protocol, run.file, run.key)
    if newest is None or (newest.id == own and not answers):
        return (await open_run(context, caller, run))[0], UpdateCursor()
    keys = [f"{run.key} {question}" for question in answers] or [run.key]
    if (await newest.state()).is_final and not answers:
        if await read_claim(context.client, _reply_name(caller, newest, run.key)):
            return newest, await start_of(context, newest, run.key)  # a repeated answer
        return (await open_run(context, caller, run))[0], UpdateCursor()
    for key, (question, text) in zip(keys, answers.items() or [("", run.text)], strict=True):
        await reply(context, caller, newest, text, key=key, question=question)
    return newest, await start_of(context, newest, run.key)


async def newest_session(context: WebContext, caller: Caller, run: Run) -> AsyncCollabJob | None:
    """Return the newest session of a thread; None: it has none."""
    held = await read_claim(context.client, _thread_name(caller, run))
    try:
        return await open_job(context, caller, held.partition(" ")[0])
    except SessionNotFound:
        return None


def _thread_name(caller: Caller, run: Run) -> str:
    return dump_json(["thread", run.protocol, caller.tenant, caller.name, run.file, run.thread])


class _Thread:
    """The chain of the sessions of a thread. Its claim is `SESSION PREVIOUS TIME`; `-`: there is no previous one."""

    def __init__(self, context: WebContext, caller: Caller, run: Run) -> None:
        self._context = context
        self._caller = caller
        self._name = _thread_name(caller, run)

    async def append(self, session_id: str) -> str:
        """Claim the next place for a session; return the session that it continues, or ''.

        Raises:
            LifecycleError: The newest session has not ended.
        """
        held = previous = ""
        for _ in range(_MAX_RACES):
            value = f"{session_id} {previous or '-'} {int(time.time())}"
            found = await take_claim(self._context.client, self._name, value, expected=held)
            if found == value:
                return previous
            held = found
            newest, before, at = held.split(" ")
            if newest == session_id:  # claimed by an earlier attempt, which has not submitted it
                return await self._ended(before)
            previous = await self._after(newest, before, int(at))
        raise LifecycleError("the thread has too many requests at once")

    async def _after(self, newest: str, before: str, at: int) -> str:
        try:
            return await self._ended(newest, is_needed=True)
        except SessionNotFound:
            if time.time() - at < _SUBMITTING_S:
                raise LifecycleError("another session of the thread is being submitted") from None
            return await self._ended(before)  # it was never submitted, or all of them have expired

    async def _ended(self, session_id: str, *, is_needed: bool = False) -> str:
        """Return the id of an ended session; '' if there is none and it is not needed."""
        try:
            state = await (await open_job(self._context, self._caller, session_id)).state()
        except SessionNotFound:
            if is_needed:
                raise
            return ""
        if not state.is_final:
            raise LifecycleError(f"session {session_id!r} of the thread has not ended")
        return session_id


def _read_run(run: Run, session_id: str, caller: Caller, settings: Settings) -> Submission:
    """Return the submission: the text is the only required input of the file that has no value, or else a message."""
    inputs = dict(run.inputs)
    declared = open_file(run.file, settings).inputs()
    missing = [it.name for it in declared if it.default is None and it.name not in inputs]
    messages: list[str | dict[str, JsonValue]] | None = [run.text] if run.text else None
    if run.text and len(missing) == 1:
        inputs[missing[0]], messages = run.text, None
    body = SubmissionBody.model_validate(
        {
            "file": run.file,
            "inputs": inputs or None,
            "collab_id": session_id,
            "messages": messages,
            "tags": list(run.tags) or None,
        }
    )
    submission = read_body(body, caller, settings)
    return submission.model_copy(update={"attachments": (*submission.attachments, *run.attachments)})


async def reply(
    context: WebContext, caller: Caller, job: AsyncCollabJob, text: str, *, key: str, question: str = ""
) -> None:
    """Answer a question of a session once for each request, also if the request is repeated.

    Args:
        context: The context of the server.
        caller: The caller.
        job: The session.
        text: The answer.
        key: Id of the request.
        question: Id of the question; empty: the first one that is open.

    Raises:
        Forbidden: The caller may not answer questions.
        ReplyRefused: The question is not open.
    """
    caller.require(Scope.REPLY)
    pending = await open_questions(context, job)
    name = _reply_name(caller, job, key)
    # The claim binds the request to its question, so that a repeated request does not answer the next one.
    held = await read_claim(context.client, name)
    if not held:
        chosen = find_question(pending, question) if question else next(iter(pending), None)
        if chosen is None:
            raise ReplyRefused(job.id, caller.name, "foreign")
        value = question_id(chosen.reply_token)
        held = await take_claim(context.client, name, value)
    if (found := find_question(pending, held)) is not None:
        await job.reply(person_of(caller, found), text, token=found.reply_token, by=caller.name)


def _reply_name(caller: Caller, job: AsyncCollabJob, key: str) -> str:
    return dump_json(["reply", job.id, caller.tenant, caller.name, key])

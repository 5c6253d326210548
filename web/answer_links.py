"""Routes of the links in notices: a page with the question, and its answer.

The signed link is the only credential. A GET changes nothing, because scanners of e-mails open links.
"""

from __future__ import annotations

from urllib.parse import parse_qs

from fastapi import APIRouter, Request
from fastapi.responses import HTMLResponse

from ..client.aio.jobs import blocking_job
from ..client.notices.answering import LinkedQuestion, LinkState, answer_linked, read_linked
from ..client.notices.links import AnswerLink, link_secret
from ..models.errors import InvalidInput, MessageTooLarge, ReplyRefused, SessionNotFound
from .answer_page import HEADERS, answered_page, invalid_page, question_page
from .bodies import read_bounded
from .context import ContextDep, WebContext

router = APIRouter(prefix="/answers", include_in_schema=False)

#: Bytes of a form for each byte of an answer: percent-encoding needs three.
_ENCODING = 3
_GONE = frozenset({LinkState.WITHDRAWN, LinkState.EXPIRED})


@router.get("/{token}")
async def show_question(token: str, context: ContextDep) -> HTMLResponse:
    """Show the question of a link."""
    link = _link(context, token)
    if link is None:
        return _html(404, invalid_page())
    linked = await _read(context, link)
    return _html(410 if linked.state in _GONE else 200, question_page(linked))


@router.post("/{token}")
async def answer_question(token: str, request: Request, context: ContextDep) -> HTMLResponse:
    """Answer the question of a link."""
    link = _link(context, token)
    if link is None:
        return _html(404, invalid_page())
    text = ""
    try:
        text = await _read_text(request, max_bytes=_ENCODING * context.settings.max_message_bytes + 100)
        job = blocking_job(await context.client.get_job(link.session_id))
        linked = await context.client.run(answer_linked, job, link, text)
    except (ReplyRefused, SessionNotFound):
        error = "Your answer was not taken: the question is closed."
        return _html(409, question_page(await _read(context, link), error=error))
    except InvalidInput as refusal:
        error = f"Your answer {refusal.rule}."
        return _html(422, question_page(await _read(context, link), error=error, typed=text))
    return _html(200, answered_page(linked))


async def _read(context: WebContext, link: AnswerLink) -> LinkedQuestion:
    try:
        job = blocking_job(await context.client.get_job(link.session_id))
        return await context.client.run(read_linked, job, link)
    except SessionNotFound:
        return LinkedQuestion(LinkState.WITHDRAWN, link.person)


def _link(context: WebContext, token: str) -> AnswerLink | None:
    try:
        secret = link_secret(context.settings)
    except InvalidInput:  # without a secret, no link was sent
        return None
    return AnswerLink.read(token, secret)


async def _read_text(request: Request, *, max_bytes: int) -> str:
    """Return the field `text` of a form. Raises InvalidInput, MessageTooLarge."""
    body = await read_bounded(request, max_bytes)
    if body is None:
        raise MessageTooLarge(max_bytes + 1, limit_bytes=max_bytes, field="text")
    try:
        fields = parse_qs(body.decode(), strict_parsing=True, errors="strict", max_num_fields=4)
        return fields["text"][0].replace("\r\n", "\n")
    except (ValueError, KeyError):
        raise InvalidInput("text", None, "must not be blank") from None


def _html(status: int, page: str) -> HTMLResponse:
    return HTMLResponse(page, status, headers=HEADERS)

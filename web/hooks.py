"""Routes for events of GitHub and GitLab. Their signatures are their credentials; the work is done by workers."""

from __future__ import annotations

import logging
from typing import Any

from fastapi import APIRouter, Request, Response
from starlette.exceptions import HTTPException

from ..client.webhooks.code_host_events import CodeHostName
from ..client.webhooks.service import Receipt
from ..models.errors import InvalidInput
from .bodies import read_bounded
from .context import ContextDep
from .problems import Problem

log = logging.getLogger(__name__)
#: Maximum bytes of an event. Those of a pull request or a comment have some ten thousand.
MAX_EVENT_BYTES = 1_048_576
_STATUSES = {
    Receipt.QUEUED: 202,
    Receipt.IGNORED: 202,
    Receipt.REPEATED: 200,
    Receipt.REFUSED: 401,
    Receipt.UNKNOWN: 404,
    Receipt.FULL: 503,
}
_ANSWERS: dict[int | str, dict[str, Any]] = {
    200: {"model": dict[str, str], "description": "The event was received before."},
    202: {"description": "The event is queued, or asks for nothing that the hook does."},
    **{
        status: {"model": Problem, "description": description}
        for status, description in {
            401: "The signature or the token is not that of the hook.",
            404: "No hook has this name.",
            413: "The body is too large.",
            422: "The body is not an event of the hook's repository.",
            429: "Too many requests with a wrong signature or token.",
            503: "The queue is full, the hook has no secret, or a part of the installation does not answer.",
        }.items()
    },
}
router = APIRouter(prefix="/hooks", tags=["hooks"])


@router.post("/{host}/{name}", status_code=202, responses=_ANSWERS)
async def receive(
    host: CodeHostName, name: str, request: Request, response: Response, context: ContextDep
) -> dict[str, str]:
    """Take an event that the code host has signed, and queue the review or the answer that it asks for."""
    body = await read_bounded(request, MAX_EVENT_BYTES)
    if body is None:
        raise HTTPException(413, f"an event must have at most {MAX_EVENT_BYTES} bytes")
    try:
        receipt = await context.client.webhooks.receive(host.value, name, dict(request.headers), body)
    except InvalidInput as error:
        if error.field in ("event", "repository"):
            raise
        # Names of files and variables are for the operator only.
        log.error("hook %r: event refused, its configuration is wrong: %s", name, error)
        raise HTTPException(
            503, "the hook is not configured on this server", headers={"Retry-After": "60"}
        ) from None
    status = _STATUSES[receipt]
    if status >= 400:
        raise HTTPException(
            status, f"event {receipt.value}", headers={"Retry-After": "60"} if status == 503 else None
        )
    response.status_code = status
    return {"result": receipt.value}

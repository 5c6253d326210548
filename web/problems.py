"""Errors as `application/problem+json` (RFC 9457), without paths and secrets."""

from __future__ import annotations

import logging
import re
from collections.abc import Mapping
from http import HTTPStatus

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from pydantic import BaseModel
from starlette._utils import get_route_path
from starlette.exceptions import HTTPException

from ..models.errors import (
    ArchiveUnavailable,
    AttachmentUnavailable,
    BrokerUnavailable,
    ClientClosed,
    ConversationError,
    Forbidden,
    InvalidInput,
    InvalidSessionFile,
    LifecycleError,
    MissingPackage,
    NotLive,
    NotRestorable,
    RedisUnavailable,
    ReplyRefused,
    ReviewNotFound,
    ScheduleNotFound,
    SessionConflict,
    SessionNotFound,
    SymposiaError,
    Unauthorized,
)
from ..models.text.redact import redact_value
from .openapi import MEDIA_TYPE, allowed_methods

_log = logging.getLogger(__name__)

#: Status of an error; the first class that fits counts.
_STATUSES: Mapping[type[SymposiaError], int] = {
    InvalidInput: 422,
    Unauthorized: 401,
    Forbidden: 403,
    NotLive: 409,
    SessionNotFound: 404,
    ScheduleNotFound: 404,
    ReviewNotFound: 404,
    AttachmentUnavailable: 404,
    SessionConflict: 409,
    LifecycleError: 409,
    ReplyRefused: 409,
    ConversationError: 409,
    NotRestorable: 409,
    MissingPackage: 501,
    RedisUnavailable: 503,
    BrokerUnavailable: 503,
    ArchiveUnavailable: 503,
    ClientClosed: 503,
}
_UNAVAILABLE = 503
#: Seconds after which a client may try again.
_RETRY_AFTER_S = "2"


class FieldError(BaseModel):
    """A value that breaks a rule."""

    field: str
    value: str
    rule: str


class Problem(BaseModel):
    """An error."""

    #: URN of the kind of error.
    type: str
    title: str
    status: int
    detail: str
    errors: list[FieldError] = []


def problem_response(
    status: int,
    detail: str,
    *,
    kind: str = "",
    errors: list[FieldError] | None = None,
    headers: Mapping[str, str] | None = None,
) -> JSONResponse:
    """Return the response of an error.

    Args:
        status: The HTTP status.
        detail: One line.
        kind: Name of the kind of error, such as `SessionNotFound`; empty: that of the status.
        errors: The values that break a rule.
        headers: Further headers.
    """
    return _respond(_problem(status, detail, kind=kind, errors=errors), headers)


def problem_of(error: SymposiaError) -> JSONResponse:
    """Return the response of an error of Symposia."""
    problem = _read_problem(error)
    if problem.status == _UNAVAILABLE:
        return _respond(problem, {"Retry-After": _RETRY_AFTER_S})
    return _respond(problem, {"WWW-Authenticate": "Bearer"} if isinstance(error, Unauthorized) else None)


def status_of(error: SymposiaError) -> int:
    """Return the HTTP status of an error."""
    return next((status for kind, status in _STATUSES.items() if isinstance(error, kind)), 500)


def detail_of(error: SymposiaError) -> str:
    """Return the text of an error for callers of any protocol: without paths, hosts and secrets."""
    return _read_problem(error).detail


def _problem(status: int, detail: str, *, kind: str, errors: list[FieldError] | None = None) -> Problem:
    title = HTTPStatus(status).phrase
    name = re.sub(r"(?<=[a-z])(?=[A-Z])", "-", kind).lower() or title.lower().replace(" ", "-")
    return Problem(
        type=f"urn:symposia:problem:{name}", title=title, status=status, detail=detail, errors=errors or []
    )


def _respond(problem: Problem, headers: Mapping[str, str] | None) -> JSONResponse:
    content = problem.model_dump(mode="json")
    return JSONResponse(content, problem.status, media_type=MEDIA_TYPE, headers=dict(headers or {}))


def _read_problem(error: SymposiaError) -> Problem:
    """Return what callers may know of an error; the log gets the rest."""
    status = status_of(error)
    kind = type(error).__name__
    if isinstance(error, InvalidInput):
        return _read_input(error, status, kind)
    if status == _UNAVAILABLE:  # its text names hosts
        detail = f"{kind}: a part of the installation does not answer; the request may be repeated"
        return _problem(status, detail, kind=kind)
    if status >= HTTPStatus.INTERNAL_SERVER_ERROR:
        _log.error("a request failed: %s: %s", kind, error)
        return _problem(status, f"{kind}: the log of the server says why", kind=kind)
    return _problem(status, str(error), kind=kind)


def _read_input(error: InvalidInput, status: int, kind: str) -> Problem:
    cause = error.__cause__
    if isinstance(error, InvalidSessionFile):
        # Its text and field name the path of the file; the cause is about the file's content.
        if not isinstance(cause, InvalidInput) or isinstance(cause, InvalidSessionFile):
            _log.error("a session file cannot be used: %s", error)
            return _problem(status, "the session file cannot be used", kind=kind)
        error = cause
    shown = FieldError(field=error.field, value=error.value, rule=error.rule)
    return _problem(status, str(error), kind=kind, errors=[shown])


def _of_validation(error: RequestValidationError) -> JSONResponse:
    errors = [_field_error(fault) for fault in error.errors()]
    first = errors[0] if errors else FieldError(field="", value="", rule="is not valid")
    detail = f"{first.field}: {first.rule}" if first.field else first.rule
    return problem_response(422, detail, kind="InvalidInput", errors=errors)


def _field_error(fault: Mapping[str, object]) -> FieldError:
    location = fault.get("loc")
    parts = [str(part) for part in location] if isinstance(location, tuple | list) else []
    name = (
        ".".join(parts[1:]) if parts and parts[0] in ("body", "query", "path", "header") else ".".join(parts)
    )
    rule = str(fault.get("msg", "is not valid")).removeprefix("Value error, ")
    return FieldError(field=name, value=redact_value(fault.get("input"), field=name), rule=rule)


def add_problem_handlers(app: FastAPI) -> None:
    """Let all errors of an app become problems."""

    @app.exception_handler(SymposiaError)
    async def of_symposia(_: Request, error: SymposiaError) -> JSONResponse:
        return problem_of(error)

    @app.exception_handler(RequestValidationError)
    async def of_request(_: Request, error: RequestValidationError) -> JSONResponse:
        return _of_validation(error)

    @app.exception_handler(HTTPException)
    async def of_status(request: Request, error: HTTPException) -> JSONResponse:
        if error.status_code == HTTPStatus.METHOD_NOT_ALLOWED:
            methods = ", ".join(allowed_methods(app, get_route_path(request.scope)))
            return problem_response(
                error.status_code, f"must be one of {methods}", headers={"Allow": methods}
            )
        kind = "InvalidInput" if error.status_code == HTTPStatus.UNPROCESSABLE_ENTITY else ""
        return problem_response(error.status_code, str(error.detail), kind=kind, headers=error.headers)

    @app.exception_handler(Exception)
    async def of_defect(_: Request, error: Exception) -> JSONResponse:
        return problem_response(500, f"{type(error).__name__}: the log of the server says why")

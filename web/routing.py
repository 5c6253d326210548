"""The router of the API: strict JSON within limits, and no unknown parameters."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Coroutine, Iterator
from typing import Any

from fastapi import APIRouter, Request, Response
from fastapi.dependencies.models import Dependant
from fastapi.exceptions import RequestValidationError
from fastapi.routing import APIRoute
from pydantic import BaseModel
from starlette.exceptions import HTTPException

from ..jobs.strict_data import MAX_DEPTH, read_json
from ..models.text.json_text import depth_of
from ..models.text.nearest import did_you_mean
from .bodies import read_bounded
from .context import context_of, find_caller, needs_caller
from .problems import Problem

#: Maximum bytes of the body of a request; attachments are base64 in it.
MAX_BODY_BYTES = 32 * 1024 * 1024
#: Bytes above which a body is read in a thread, so that other requests continue.
_LARGE_BYTES = 64 * 1024
_TOO_DEEP = f"must not nest deeper than {MAX_DEPTH} levels"


def _too_large() -> HTTPException:
    return HTTPException(413, f"the body must be at most {MAX_BODY_BYTES} bytes")


def _bad_json(rule: str) -> HTTPException:
    return HTTPException(422, f"the body {rule}")


class StrictRequest(Request):
    """A request with a limited body, whose JSON has limits of depth and number of values, and no key twice."""

    async def body(self) -> bytes:
        """Return the body, read in chunks.

        Raises:
            HTTPException: It is too large; status 413.
        """
        if not hasattr(self, "_body"):
            length = self.headers.get("content-length", "")
            if length.isdecimal() and int(length[:20]) > MAX_BODY_BYTES:
                raise _too_large()
            body = await read_bounded(self, MAX_BODY_BYTES)
            if body is None:
                raise _too_large()
            self._body = body
        return self._body

    async def json(self) -> Any:
        """Return the data of the body.

        Raises:
            HTTPException: It is not JSON, or exceeds a limit; status 422.
        """
        body = await self.body()
        return await asyncio.to_thread(_parse, body) if len(body) > _LARGE_BYTES else _parse(body)


def _parse(body: bytes) -> Any:
    try:
        data = read_json(body.decode())
    except json.JSONDecodeError as error:
        raise _bad_json(f"is not JSON: {error.msg} (line {error.lineno})") from None
    except RecursionError:
        raise _bad_json(_TOO_DEEP) from None
    except ValueError as error:  # also OverLimit and UnicodeDecodeError
        raise _bad_json(f"is not JSON: {error}") from None
    if depth_of(data) >= MAX_DEPTH:
        raise _bad_json(_TOO_DEEP)
    return data


class StrictRoute(APIRoute):
    """A route that reads `StrictRequest`, from a known caller only, and refuses unknown query parameters."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        """Return the handler."""
        handle = super().get_route_handler()
        known = set(_query_names(self.dependant))
        has_caller = needs_caller(self.dependant)

        async def handle_strictly(request: Request) -> Response:
            if has_caller:  # FastAPI reads the body before the dependencies
                await find_caller(request, context_of(request))
            for name in request.query_params:
                if name not in known:
                    rule = f"must be a parameter of this request{did_you_mean(name, sorted(known))}"
                    fault = {"loc": ("query", name), "msg": rule, "input": request.query_params[name]}
                    raise RequestValidationError([fault])
            return await handle(StrictRequest(request.scope, request.receive))

        return handle_strictly


def _query_names(dependant: Dependant) -> Iterator[str]:
    """Yield the names of the query parameters of a route and of its dependencies."""
    for field in dependant.query_params:
        kind = field.field_info.annotation
        if isinstance(kind, type) and issubclass(kind, BaseModel):
            yield from kind.model_fields
        else:
            yield field.alias
    for dependency in dependant.dependencies:
        yield from _query_names(dependency)


#: Answers that each route may have, for the document of the API.
PROBLEMS: dict[int | str, dict[str, Any]] = {
    status: {"model": Problem, "description": description}
    for status, description in {
        401: "Credentials are missing or not valid.",
        403: "The caller lacks a scope.",
        404: "Not found, or of another tenant.",
        409: "The status does not allow it.",
        413: "The body is too large.",
        422: "A value breaks a rule.",
        429: "Too many requests or streams.",
        503: "A part of the installation does not answer.",
    }.items()
}


def api_router(tag: str) -> APIRouter:
    """Return a router of the API.

    Args:
        tag: Name of the group of its routes in the document of the API.
    """
    return APIRouter(prefix="/v1", tags=[tag], route_class=StrictRoute, responses=PROBLEMS)

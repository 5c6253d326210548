"""The router of the API: strict JSON within limits, and no unknown parameters."""

from __future__ import annotations

import json
from collections.abc import Callable, Coroutine
from typing import Any

from fastapi import APIRouter, Request, Response
from fastapi.dependencies.utils import get_flat_params
from fastapi.exceptions import RequestValidationError
from fastapi.params import Query
from fastapi.routing import APIRoute

from ..jobs.strict_data import MAX_DEPTH, read_json
from ..models.text.json_text import depth_of
from ..models.text.nearest import did_you_mean
from .problems import Problem

#: Maximum bytes of the body of a request; attachments are base64 in it.
MAX_BODY_BYTES = 32 * 1024 * 1024


def _refusal(where: str, name: str, rule: str, value: object = None) -> RequestValidationError:
    return RequestValidationError([{"loc": (where, *filter(None, [name])), "msg": rule, "input": value}])


class StrictRequest(Request):
    """A request whose JSON has limits of depth and number of values, and no key twice."""

    async def json(self) -> Any:
        """Return the data of the body.

        Raises:
            RequestValidationError: It is not JSON, or exceeds a limit.
        """
        try:
            data = read_json((await self.body()).decode())
        except json.JSONDecodeError as error:
            raise _refusal("body", "", f"is not JSON: {error.msg} (line {error.lineno})") from None
        except RecursionError:
            raise _refusal("body", "", f"must not nest deeper than {MAX_DEPTH} levels") from None
        except ValueError as error:  # also OverLimit and UnicodeDecodeError
            raise _refusal("body", "", f"is not JSON: {error}") from None
        if depth_of(data) >= MAX_DEPTH:
            raise _refusal("body", "", f"must not nest deeper than {MAX_DEPTH} levels")
        return data


class StrictRoute(APIRoute):
    """A route that reads `StrictRequest` and refuses unknown query parameters."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        """Return the handler."""
        handle = super().get_route_handler()
        known = {
            field.alias for field in get_flat_params(self.dependant) if isinstance(field.field_info, Query)
        }

        async def handle_strictly(request: Request) -> Response:
            for name in request.query_params:
                if name not in known:
                    rule = f"must be a parameter of this request{did_you_mean(name, sorted(known))}"
                    raise _refusal("query", name, rule, request.query_params[name])
            return await handle(StrictRequest(request.scope, request.receive))

        return handle_strictly


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

"""What the routes of one server share, and their dependencies: the caller of a request and its sessions."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from typing import Annotated, cast

from fastapi import Depends, Request, params
from fastapi.dependencies.models import Dependant

from ..client.aio.client import AsyncClient
from ..client.aio.jobs import AsyncCollabJob
from ..config.settings import Settings
from ..models.errors import Forbidden, SessionNotFound
from ..models.identity import Caller, Scope
from ..models.text.ids import is_uuid4
from .identity import Identify
from .limits import CallerLimits

#: Maximum number of lists that are read at the same time; more of them wait.
MAX_LISTS = 4


@dataclass(frozen=True, slots=True)
class WebContext:
    """What the routes of one server share; `app.state.symposia` is it."""

    client: AsyncClient
    settings: Settings
    identify: Identify
    limits: CallerLimits
    #: Lists that are read at the same time: the threads of the client also serve other calls, such as to find a caller.
    lists: asyncio.Semaphore = field(default_factory=lambda: asyncio.Semaphore(MAX_LISTS))
    #: Set when the server stops: streams end.
    closing: asyncio.Event = field(default_factory=asyncio.Event)


def context_of(request: Request) -> WebContext:
    """Return the context of the server that got a request."""
    return cast("WebContext", request.app.state.symposia)


ContextDep = Annotated[WebContext, Depends(context_of)]


async def find_caller(request: Request, context: ContextDep) -> Caller:
    """Return the caller of a request, which is identified and counted once.

    Raises:
        Unauthorized: The credentials are missing or not valid.
        HTTPException: The caller has made too many requests.
    """
    caller: Caller | None = getattr(request.state, "caller", None)
    if caller is None:
        caller = request.state.caller = await context.identify(request.headers.get("authorization"))
        context.limits.count_request(caller)
    return caller


def needs_caller(dependant: Dependant) -> bool:
    """Return whether a route has a dependency that is the caller of a request."""
    return dependant.call is find_caller or any(map(needs_caller, dependant.dependencies))


class _Requires:
    """The dependency that is the caller of a request, with what the request needs."""

    def __init__(self, scope: Scope, *, all_tenants: bool = False) -> None:
        self._scope = scope
        self._all_tenants = all_tenants

    async def __call__(self, caller: Annotated[Caller, Depends(find_caller)]) -> Caller:
        """Return the caller.

        Raises:
            Forbidden: The caller lacks the scope, or is bound to a tenant.
        """
        caller.require(self._scope)
        if self._all_tenants and caller.tenant is not None:
            raise Forbidden("all-tenants")
        return caller


def requires(scope: Scope) -> params.Depends:
    """Return a dependency: the caller of a request, who must have a scope. Use it in `Annotated[Caller, ...]`."""
    return params.Depends(_Requires(scope))


#: The caller of a request, with the scope that it needs.
Submitter = Annotated[Caller, requires(Scope.SUBMIT)]
Reader = Annotated[Caller, requires(Scope.READ)]
Replier = Annotated[Caller, requires(Scope.REPLY)]
Controller = Annotated[Caller, requires(Scope.CONTROL)]
#: The caller of a request for what belongs to no tenant, such as reviews and schedules.
AllReader = Annotated[Caller, params.Depends(_Requires(Scope.READ, all_tenants=True))]
AllController = Annotated[Caller, params.Depends(_Requires(Scope.CONTROL, all_tenants=True))]


async def open_job(context: WebContext, caller: Caller, session_id: str) -> AsyncCollabJob:
    """Return a session of the caller's tenant. The only place that checks the tenant of a session.

    Args:
        context: The context of the server.
        caller: The caller.
        session_id: The whole id: a shortened one could be completed to that of another tenant.

    Raises:
        SessionNotFound: There is no such session, or another tenant has it.
    """
    if not is_uuid4(session_id):
        raise SessionNotFound(session_id[:100])
    try:
        job = await context.client.get_job(session_id)
    except SessionNotFound:
        raise SessionNotFound(session_id) from None
    if caller.tenant is not None and not caller.sees((await job.spec()).tenant):
        raise SessionNotFound(session_id)
    return job

"""The HTTP API as an ASGI app.

app = create_app()  # with the settings of this process
your_app.mount("/symposia", create_app(client=client))
"""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from importlib.metadata import version
from importlib.util import find_spec

from fastapi import FastAPI

from ..client.aio.client import AsyncClient
from ..config.settings import Settings, load_settings
from . import agui, answer_links, hooks, pages, ui_messages
from .context import WebContext
from .guards import add_guards
from .identity import build_identify
from .limits import CallerLimits
from .openapi import use_problems
from .problems import add_problem_handlers
from .routes import contents, files, lists, questions, reviews, schedules, sessions, steering

#: Modules with a `router`.
ROUTES = (
    lists,
    sessions,
    contents,
    steering,
    questions,
    files,
    reviews,
    schedules,
    hooks,
    pages,
    answer_links,
    agui,
    ui_messages,
)


def create_app(
    settings: Settings | None = None, *, client: AsyncClient | None = None, authenticate: bool = True
) -> FastAPI:
    """Return the app, which can also be mounted in another one.

    Args:
        settings: Settings of the installation. None: those of this process.
        client: Client of the installation, which its owner closes. None: the app makes one and closes it when it stops.
        authenticate: Whether each request needs credentials. Without, only this machine may reach the app.
    """
    settings = settings or load_settings()
    own = client is None
    client = client or AsyncClient(settings, worker_grace_s=float("inf"))
    context = WebContext(
        client=client,
        settings=settings,
        identify=build_identify(settings, client, authenticate=authenticate),
        limits=CallerLimits(settings.http_requests, settings.http_streams),
    )

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncGenerator[None, None]:
        yield
        context.closing.set()
        if own:
            await context.client.close()

    app = FastAPI(
        title="Symposia",
        version=version("symposia"),
        summary="Multi-agent collaboration sessions on Celery workers.",
        lifespan=lifespan,
        docs_url=None,  # its page would load scripts from another host
        redoc_url=None,
        openapi_url="/v1/openapi.json",
    )
    app.state.symposia = context
    add_problem_handlers(app)
    add_guards(app, settings, authenticate=authenticate)
    for module in ROUTES:
        app.include_router(module.router)
    use_problems(app)
    if find_spec("mcp") is not None:
        from .mcp.mount import mount

        mount(app, context)
    # Of another extra, and large; an agent is a session file.
    if settings.jobs and find_spec("a2a") is not None:
        from .a2a import routes as a2a_routes

        app.include_router(a2a_routes.router)
    return app

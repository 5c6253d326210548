"""The OpenAPI document, with errors as problems."""

from __future__ import annotations

from typing import Any

from fastapi import FastAPI

from .problems import MEDIA_TYPE

_FIRST_ERROR = 400
_PROBLEM = {"schema": {"$ref": "#/components/schemas/Problem"}}


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

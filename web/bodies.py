"""Bytes of requests: bodies of limited size, and files in base64."""

from __future__ import annotations

from base64 import b64decode
from binascii import Error as NotBase64

from starlette.requests import Request

from ..models.errors import InvalidInput


async def read_bounded(request: Request, max_bytes: int) -> bytes | None:
    """Return the body of a request; None: it is too large, and was not read to its end."""
    body = bytearray()
    async for chunk in request.stream():
        body += chunk
        if len(body) > max_bytes:
            return None
    return bytes(body)


def decode_base64(field: str, text: str) -> bytes:
    """Return the bytes of a text in base64.

    Raises:
        InvalidInput: It is not base64; the error names `field`.
    """
    try:
        return b64decode(text, validate=True)
    except (NotBase64, ValueError):
        raise InvalidInput(field, f"{len(text)} characters", "must be base64") from None

"""Signed links that answer one question in the name of one person.

The token of a link is base64 of JSON with session, turn, question, person and the time at which it expires, then base64
of an HMAC-SHA256 over it. It needs no record: whether the question is still open is read from the session.
"""

from __future__ import annotations

import hashlib
import hmac
from base64 import urlsafe_b64decode, urlsafe_b64encode
from binascii import Error as BadBase64
from typing import Self

from pydantic import BaseModel, ConfigDict, ValidationError

from ...config.settings import Settings, read_variable
from ...models.errors import InvalidInput

#: Maximum characters of a token; a person's name has at most 200.
MAX_TOKEN_CHARS = 2_000
#: Minimum characters of the secret.
MIN_SECRET_CHARS = 16
#: Seconds for which a link to a question without a deadline can be used.
LONGEST_S = 30 * 86_400
_PURPOSE = b"symposia answer link 1."


class AnswerLink(BaseModel):
    """What a link is for."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    session_id: str
    turn: int
    question: str
    person: str
    #: Seconds since the epoch.
    expires_s: int

    def sign(self, secret: str) -> str:
        """Return the token of the link."""
        body = _encode(self.model_dump_json().encode())
        return f"{body}.{_encode(_signature(secret, body))}"

    @classmethod
    def read(cls, token: str, secret: str) -> Self | None:
        """Return the link of a token; None: it is not genuine."""
        body, _, signature = token.partition(".")
        if len(token) > MAX_TOKEN_CHARS or not token.isascii():
            return None
        try:
            given = urlsafe_b64decode(f"{signature}==")
            if not hmac.compare_digest(given, _signature(secret, body)):
                return None
            return cls.model_validate_json(urlsafe_b64decode(f"{body}=="))
        except (BadBase64, ValidationError, ValueError):
            return None


def link_secret(settings: Settings) -> str:
    """Return the secret that signs links.

    Raises:
        InvalidInput: The variable is not set, or its value is too short.
    """
    name = settings.notices_secret_env
    secret = read_variable(name) or ""
    if len(secret) < MIN_SECRET_CHARS:
        raise InvalidInput(name, None, f"must be set to a secret of at least {MIN_SECRET_CHARS} characters")
    return secret


def _signature(secret: str, body: str) -> bytes:
    return hmac.new(secret.encode(), _PURPOSE + body.encode(), hashlib.sha256).digest()


def _encode(data: bytes) -> str:
    return urlsafe_b64encode(data).decode().rstrip("=")

"""Signed webhooks between Symposia and remote systems: signatures, and the HTTP request of a message.

Three headers: `webhook-id` (the same in every attempt), `webhook-timestamp` (seconds since the
epoch), `webhook-signature` (`v1,` and the base64 of an HMAC-SHA256 over `id.timestamp.body`;
several, separated by spaces, while a secret is being changed). A secret that begins with
`whsec_` is base64, any other is used as it is.

Source: Standard Webhooks 1.0, https://www.standardwebhooks.com.

The package standardwebhooks is not used: its version 1.1 decodes every secret as base64, and raises
ValueError for a malformed signature or a body that is not UTF-8, which anyone can send.
"""

from __future__ import annotations

import hashlib
import hmac
from base64 import b64decode, b64encode
from binascii import Error as BadBase64
from collections.abc import Mapping
from urllib.parse import urlsplit

from ...models.errors import AgentFailed
from .http_call import HttpTarget, http_call


def post_webhook(target: HttpTarget, body: bytes, headers: Mapping[str, str]) -> None:
    """Post a message; it is delivered when this returns.

    Raises:
        AgentFailed: It is not delivered; `retryable` says whether a retry may succeed.
    """
    answer = http_call(target, "POST", {"Content-Type": "application/json", **headers}, body=body)
    if answer.is_success:
        return
    host = urlsplit(target.url).hostname
    if 300 <= answer.status < 400:
        raise AgentFailed(
            f"{host} answered HTTP {answer.status}: redirects are not followed", retryable=False
        )
    raise AgentFailed(
        f"{host} answered HTTP {answer.status}",
        retryable=answer.is_transient,
        retry_after_s=answer.retry_after_s,
    )


ID, TIMESTAMP, SIGNATURE = "webhook-id", "webhook-timestamp", "webhook-signature"

#: Maximum difference in seconds between a message's timestamp and the current time.
TOLERANCE_S = 300
_SCHEME = "v1,"
_ENCODED = "whsec_"


def signed_headers(secret: str, message_id: str, body: bytes, *, now_s: int) -> dict[str, str]:
    """Return the headers of a message that is sent now."""
    signature = _signature(secret, message_id, str(now_s), body)
    return {ID: message_id, TIMESTAMP: str(now_s), SIGNATURE: f"{_SCHEME}{signature}"}


def refusal(secret: str, headers: Mapping[str, str], body: bytes, *, now_s: int) -> str | None:
    """Return why a message is refused: `unsigned`, `expired` or `forged`; None: it is genuine."""
    message_id, stamp = headers.get(ID, ""), headers.get(TIMESTAMP, "")
    given = headers.get(SIGNATURE, "").split()
    if not (message_id and given and stamp.isascii() and stamp.isdigit() and len(stamp) < 20):
        return "unsigned"
    expected = (_SCHEME + _signature(secret, message_id, stamp, body)).encode()
    # All signatures are compared, so that the duration does not reveal which one matches.
    if not sum(hmac.compare_digest(expected, signature.encode(errors="replace")) for signature in given[:10]):
        return "forged"
    return "expired" if abs(now_s - int(stamp)) > TOLERANCE_S else None


def _signature(secret: str, message_id: str, stamp: str, body: bytes) -> str:
    content = f"{message_id}.{stamp}.".encode(errors="replace") + body
    return b64encode(hmac.new(_key(secret), content, hashlib.sha256).digest()).decode()


def _key(secret: str) -> bytes:
    if secret.startswith(_ENCODED):
        try:
            # An empty key would be known to everyone.
            return b64decode(secret.removeprefix(_ENCODED), validate=True) or secret.encode()
        except BadBase64:
            pass  # not base64: use the secret as it is
    return secret.encode()

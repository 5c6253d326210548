"""Signed messages between Symposia and remote systems, by the scheme of Standard Webhooks.

Three headers: `webhook-id` (the same at every attempt), `webhook-timestamp` (seconds since the
epoch), `webhook-signature` (`v1,` and the base64 of an HMAC-SHA256 over `id.timestamp.body`;
several, with blanks between them, while a secret is changed). A secret that begins with
`whsec_` is base64, any other is taken as it is.

Source: Standard Webhooks 1.0, https://www.standardwebhooks.com.

Not the package standardwebhooks: its version 1.1 decodes every secret as base64, and raises ValueError for a
malformed signature or a body that is not UTF-8, which anyone can send.
"""

from __future__ import annotations

import hashlib
import hmac
from base64 import b64decode, b64encode
from binascii import Error as BadBase64
from collections.abc import Mapping

ID, TIMESTAMP, SIGNATURE = "webhook-id", "webhook-timestamp", "webhook-signature"

#: Seconds that a message may be old, or a clock ahead.
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
    # Every signature is compared, so that the duration does not reveal which one matches.
    if not sum(hmac.compare_digest(expected, it.encode(errors="replace")) for it in given[:10]):
        return "forged"
    return "expired" if abs(now_s - int(stamp)) > TOLERANCE_S else None


def _signature(secret: str, message_id: str, stamp: str, body: bytes) -> str:
    content = f"{message_id}.{stamp}.".encode(errors="replace") + body
    return b64encode(hmac.new(_key(secret), content, hashlib.sha256).digest()).decode()


def _key(secret: str) -> bytes:
    if secret.startswith(_ENCODED):
        try:
            # An empty secret would be a key that everyone knows.
            return b64decode(secret.removeprefix(_ENCODED), validate=True) or secret.encode()
        except BadBase64:
            pass  # a secret that only looks like one
    return secret.encode()

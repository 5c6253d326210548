"""Rules that protect the dashboard in a browser: headers, and the name of its user. Pure.

`web/hosts.py` has the rules of hosts and origins. Flower itself checks the origin of some requests only, and adds CORS
headers if its API is open. The handlers of the dashboard do not use these parts of Flower.
"""

from __future__ import annotations

from base64 import b64decode
from collections.abc import Mapping

#: Scripts and styles come from files of this server only. Bootstrap's own style sheet has images in `data:`.
CONTENT_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; font-src 'self'; "
    "connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)

#: Headers of every answer of the dashboard.
HEADERS: Mapping[str, str] = {
    "Cache-Control": "no-store",
    "Content-Security-Policy": CONTENT_POLICY,
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
}


def basic_user(authorization: str) -> str:
    """Return the user name in a header of basic authentication; empty: there is none.

    Credentials without a colon have no name, so all of them are secret.
    """
    kind, _, encoded = authorization.partition(" ")
    try:
        credentials = b64decode(encoded.strip(), validate=True).decode() if kind == "Basic" else ""
    except ValueError:
        return ""
    name, colon, _ = credentials.partition(":")
    return name if colon else ""

"""Access tokens of callers."""

import hashlib
import os
import secrets


def new_token():
    return secrets.token_urlsafe(32)


def digest_of(token):
    return hashlib.sha256(token.encode()).hexdigest()


def is_allowed(token, digests):
    """Return whether the token is one of those whose digests are known."""
    given = digest_of(token)
    return any([secrets.compare_digest(given, known) for known in digests])


def admin_digest():
    value = os.environ.get("ADMIN_DIGEST")
    if not value:
        raise LookupError("ADMIN_DIGEST is not set")
    return value

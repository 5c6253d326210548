"""The secrets this process knows, so that whatever it writes can be searched for them."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from urllib.parse import unquote, urlsplit

#: Shorter values are words rather than secrets, and would be hidden in the middle of others.
SHORTEST = 6

_NAME = re.compile(r"(?:^|_)(?:KEY|TOKEN|SECRET|PASSWORD|PASSWD|CREDENTIALS?)$", re.IGNORECASE)


def known_secrets(urls: Iterable[str]) -> tuple[str, ...]:
    """Passwords in the URLs in use, and the values of variables such as `OPENAI_API_KEY`.

    Longest first: one may be part of another.
    """
    passwords = [password for url in urls if (password := urlsplit(url).password)]
    variables = [value for name, value in os.environ.items() if _NAME.search(name)]
    found = {*passwords, *map(unquote, passwords), *variables}
    return tuple(sorted((it for it in found if len(it) >= SHORTEST), key=len, reverse=True))

"""Pull request of a CI job, from the variables that GitHub and GitLab set for it.

Source: https://docs.github.com/actions/reference/variables-reference,
https://docs.gitlab.com/ci/variables/predefined_variables.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable

_GITHUB_REF = re.compile(r"refs/pull/(\d{1,15})/(?:merge|head)")


def find_pull_request(getenv: Callable[[str], str | None] = os.environ.get) -> int | None:
    """Return the number of the pull or merge request that this job is for; None: it is for none."""
    if found := _GITHUB_REF.fullmatch(getenv("GITHUB_REF") or ""):
        return int(found[1])
    number = getenv("CI_MERGE_REQUEST_IID") or ""
    return int(number) if number.isascii() and number.isdecimal() and len(number) <= 15 else None

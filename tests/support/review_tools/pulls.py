"""Pull requests of the test, and runs that review them."""

from __future__ import annotations

from typing import Any

from review_tools.values import a_finding, a_result, a_run
from symposia.reviews.delivery.deliveries_file import DeliveriesFile
from symposia.reviews.delivery.destinations import Destinations
from symposia.reviews.delivery.payload import ReportPayload
from symposia.reviews.values.findings import Finding, with_snippets
from symposia.reviews.values.runs import PullRequest, ReviewRun

HEAD, NEXT, MERGE, OTHER = (letter * 40 for letter in "adef")
NUMBER = 5
#: The new file: lines 1 to 6 are a hunk in which 2 and 3 are new; line 21 is added in a second hunk.
LINES = [
    "import os",
    "key = 'abc'",
    "eval(key)",
    "a = 1",
    "b = 2",
    "c = 3",
    *[f"x{number} = {number}" for number in range(7, 20)],
    "end = 20",
    "print(end)",
]
TEXT = "\n".join(LINES) + "\n"
PATCH = (
    "@@ -1,4 +1,6 @@\n import os\n+key = 'abc'\n+eval(key)\n a = 1\n b = 2\n c = 3\n"
    "@@ -17,2 +19,3 @@ def x():\n x19 = 19\n end = 20\n+print(end)\n"
)


def on_line(line: int, rule: str = "S105", **changes: Any) -> Finding:
    """A finding in `app.py` with its quote and excerpt."""
    values = {"line": line, "rule": rule, "message": f"{rule} is broken", **changes}
    (finding,) = with_snippets([a_finding(**values)], TEXT)
    return finding


def a_reviewed_pull(*findings: Finding, **changes: Any) -> ReviewRun:
    """A run of the head that found this in `app.py`."""
    return a_run(a_result(*findings), **{"findings": findings, "revision": HEAD} | changes)


def payload(run: ReviewRun) -> ReportPayload:
    return ReportPayload(run, (), PullRequest(number=NUMBER))


def destinations(token: str, **entries: dict[str, object]) -> Destinations:
    return Destinations(DeliveriesFile.model_validate(entries), getenv={"HOST_TOKEN": token}.get)

"""Parts of the inbox around its questions: what its address asks for, and the links to others. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from urllib.parse import urlencode

from ...models.text.durations import read_span
from .list_parts import Link
from .questions import OpenQuestion

#: `state` in the address -> words of its link.
STATES = {"open": "open", "answered": "answered", "expired": "without an answer"}
#: `since` in the address -> words, for closed questions.
TIMES = {"24h": "24 hours", "7d": "7 days", "30d": "30 days"}
DEFAULT_SINCE = "7d"
#: Maximum number of people with a link of their own; the field finds the others.
MAX_PEOPLE = 6


@dataclass(frozen=True, slots=True)
class InboxParams:
    """What the address of the inbox asks for."""

    #: Id or name of a person, or `role:NAME`; empty: all.
    person: str = ""
    #: One of `STATES`.
    state: str = "open"
    #: Age of closed questions, such as `7d`.
    since: str = DEFAULT_SINCE

    @property
    def since_s(self) -> float:
        """Return the age in seconds."""
        return read_span(self.since)

    def href(self, path: str, **changes: str) -> str:
        """Return the address with other values."""
        values = {"for": self.person, "state": self.state, "since": self.since, **changes}
        if values["state"] == "open":
            values |= {"state": "", "since": ""}
        query = urlencode({name: value for name, value in values.items() if value})
        return f"{path}?{query}" if query else path


def read_inbox_params(values: Mapping[str, str]) -> tuple[InboxParams, list[str]]:
    """Return what an address asks for, and a line for each wrong value, which is left out."""
    person, state, since = (values.get(name, "").strip() for name in ("for", "state", "since"))
    notices = []
    if state and state not in STATES:
        notices.append(f"state: {state!r} is not one of {', '.join(STATES)}.")
    try:
        _ = read_span(since or DEFAULT_SINCE)
    except ValueError:
        notices.append(f"since: {since!r} is not a time such as 24h or 7d.")
        since = ""
    params = InboxParams(
        "" if person == "all" else person, state if state in STATES else "open", since or DEFAULT_SINCE
    )
    return params, notices


def inbox_tabs(
    params: InboxParams, questions: Sequence[OpenQuestion], path: str, *, viewer: str
) -> list[Link | None]:
    """Return the links: whose open questions, and closed ones; None separates both.

    Args:
        params: What the page shows.
        questions: All open questions.
        path: Address of the inbox.
        viewer: Name of the user.
    """
    is_open = params.state == "open"
    counts = Counter(person.id for question in questions for person in question.asked)
    names = [name for name, _ in counts.most_common(MAX_PEOPLE)]
    extra = (viewer if viewer in counts else "", params.person)
    names = list(dict.fromkeys([*filter(None, extra), *names]))
    people = [
        Link(
            params.href(path, **{"for": name, "state": "open"}),
            f"for you, {name}" if name == viewer else f"for {name}",
            sum(question.is_for(name) for question in questions),
            is_current=is_open and params.person == name,
        )
        for name in names
    ]
    everything = Link(
        params.href(path, **{"for": "", "state": "open"}),
        "for all",
        len(questions),
        is_current=is_open and not params.person,
    )
    closed = [
        Link(params.href(path, state=state), words, is_current=params.state == state)
        for state, words in STATES.items()
        if state != "open"
    ]
    return [everything, *people, None, *closed]


def asked_names(questions: Iterable[OpenQuestion]) -> list[str]:
    """Return the people and roles that the field offers."""
    people = {person for question in questions for person in question.asked}
    return sorted(
        {person.id for person in people} | {f"role:{person.role}" for person in people if person.role}
    )

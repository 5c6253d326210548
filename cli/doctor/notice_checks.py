"""Checks of the notices to people: variables, the secret of links, the mail server."""

from __future__ import annotations

from collections.abc import Iterator

from ...agents.registry.registry import Registry
from ...client.notices.links import link_secret
from ...client.notices.senders import chat_target, check_mail
from ...config.settings import Settings
from ...models.errors import AgentFailed, InvalidInput
from ...models.text.words import count_of
from .server_checks import CheckResult, good, warning

_NOT_SENT = "its notices are not sent until this is fixed"


def check_notices(settings: Settings, registry: Registry) -> Iterator[CheckResult]:
    """Report how people are notified of their questions, and what is missing for that."""
    people = {name: person for name, person in registry.people.items() if person.channels}
    if not people:
        return
    problems = list(_problems(settings, registry))
    yield good("notices", f"{count_of(len(people), 'person', plural='people')}: {', '.join(sorted(people))}")
    for problem in problems:
        yield warning("notices", problem, _NOT_SENT)
    if settings.public_url is None:
        advice = "set SYMPOSIA_PUBLIC_URL to the address of `symposia serve` for other machines"
        yield warning("notices", "they contain no link, but a command: there is no `public_url`", advice)


def _problems(settings: Settings, registry: Registry) -> Iterator[str]:
    for name, person in sorted(registry.people.items()):
        if person.chat is not None:
            try:
                chat_target(person, settings)
            except InvalidInput as error:
                yield f"people.{name}: {error}"
    if settings.public_url is not None:
        try:
            link_secret(settings)
        except InvalidInput as error:
            yield str(error)
    if not any(person.email for person in registry.people.values()):
        return
    if settings.notices_from is None:
        yield "notices_from: must be set: the sender of e-mails to people"
    try:
        check_mail(settings)
    except (InvalidInput, AgentFailed) as error:
        yield str(error)

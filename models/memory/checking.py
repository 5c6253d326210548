"""Check of what an agent learned: service and values by the schema. Pure.

The service is the one that was named, else the one the user is speaking of, else the only one that has the parameters.
What breaks a rule is described in one line, with a private value masked, for the agent and for logs.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from pydantic import JsonValue

from ..errors import InvalidInput
from ..text.json_text import dump_json
from ..text.redact import excerpt
from .learned import MAX_SHOWN, Learned
from .masking import mask
from .parameters import ParameterKind, is_stated
from .recall import MemoryView
from .services import Service, find_service, registered_services

#: Rules in the words of a prompt, with an example.
_RULES = {
    ParameterKind.DATE: "must be a date such as 2026-02-14",
    ParameterKind.TIME: "must be a time of day such as 18:30",
    ParameterKind.INTEGER: "must be a whole number such as 2",
    ParameterKind.TEXTS: 'must be a list such as ["Ann Lee", "Ben Moss"]',
}


@dataclass(frozen=True, slots=True)
class CheckedLearned:
    """The valid part of what an agent learned, and what is wrong with the rest."""

    #: None: nothing is left.
    learned: Learned | None = None
    #: One line for each value or line that is not kept.
    faults: tuple[str, ...] = ()
    #: Services that the parameters may belong to, if there are several and none was named.
    unclear: tuple[str, ...] = ()


def likely_services(names: Iterable[str], services: Iterable[Service]) -> tuple[Service, ...]:
    """Return the services with the most of these parameters; empty: none has any of them."""
    wanted = frozenset(names)
    scores = [(len(wanted.intersection(service.by_name)), service) for service in services]
    best = max((score for score, _ in scores), default=0)
    return tuple(service for score, service in scores if score == best) if best else ()


def infer_service(
    names: Iterable[str], current: Service | None, services: Iterable[Service]
) -> tuple[Service, ...]:
    """Return the service that parameters without a service belong to; several: it is not clear which one.

    The current service is left only if it has none of the parameters, and one other service has all of them and needs
    no more.
    """
    wanted = frozenset(name for name in names)
    likely = likely_services(wanted, services)
    if current is None:
        return likely
    is_other = (
        len(likely) == 1
        and not wanted.intersection(current.by_name)
        and wanted.issuperset(likely[0].required)
        and wanted.issubset(likely[0].by_name)
    )
    return likely if is_other and likely[0].required else (current,)


def check_learned(learned: Learned | None, view: MemoryView | None) -> CheckedLearned:
    """Return the valid part of what an agent learned, with its service, and the faults of the rest.

    Args:
        learned: What the agent learned.
        view: The memory as the agent saw it.
    """
    if learned is None or view is None:
        return CheckedLearned()
    if view.degraded and view.service is None and learned.service is None:  # the memory knows the service
        rest = learned.model_copy(update={"unreadable": ()})
        return CheckedLearned(rest or None, learned.unreadable)
    names = [*learned.parameters, *learned.inferred, *learned.forget]
    if learned.service is None and not names:
        return CheckedLearned(None, learned.unreadable)
    try:
        service = find_service(learned.service) if learned.service else None
    except InvalidInput as error:
        fault = f"SERVICE: {error.rule} (got {excerpt(learned.service or '')})"
        return CheckedLearned(None, (*learned.unreadable, fault))
    if service is None:
        likely = infer_service(learned.parameters or names, _find(view.service), _offered(view))
        if len(likely) != 1:
            return _unclear(learned, names, likely or _offered(view))
        service = likely[0]
    return _check_values(learned, service, view)


def _unclear(learned: Learned, names: list[str], likely: Iterable[Service]) -> CheckedLearned:
    services = tuple(service.name for service in likely)
    fault = f"SERVICE: must be named, {', '.join(names[:5])} may belong to {' or '.join(services)}"
    return CheckedLearned(None, (*learned.unreadable, fault), services)


def _check_values(learned: Learned, service: Service, view: MemoryView) -> CheckedLearned:
    faults = list(learned.unreadable)
    kept: dict[str, dict[str, JsonValue]] = {"parameters": {}, "inferred": {}}
    for part, values in (("parameters", learned.parameters), ("inferred", learned.inferred)):
        for name, value in values.items():
            try:
                if is_stated(value):
                    kept[part][name] = service.read(name, value)
            except InvalidInput as error:
                faults.append(_describe_fault(service, name, value, error, view))
    valid = learned.model_copy(update={**kept, "service": service.name, "unreadable": ()})
    has_rest = valid.parameters or valid.inferred or valid.forget or learned.service
    return CheckedLearned(valid if has_rest else None, tuple(faults))


def _find(name: str | None) -> Service | None:
    try:
        return None if name is None else find_service(name)
    except InvalidInput:
        return None


def _offered(view: MemoryView) -> tuple[Service, ...]:
    """Return the services of the session that this process knows."""
    names = [form.name for form in view.forms]
    services = registered_services()
    return tuple(service for service in services if not names or service.name in names)


def _describe_fault(
    service: Service, name: str, value: JsonValue, error: InvalidInput, view: MemoryView
) -> str:
    parameter = service.by_name.get(name)
    kind = ParameterKind.ANY if parameter is None else parameter.kind
    shown = mask(name, value, private=parameter is not None and parameter.private)
    got = excerpt(dump_json(shown), MAX_SHOWN)
    today = f"; today is {view.today}" if view.today and kind is ParameterKind.DATE else ""
    return f"REMEMBER {name}: {_RULES.get(kind, error.rule)} (got {got}{today})"


def merge_learned(first: Learned | None, second: Learned | None) -> Learned | None:
    """Return the valid part of a first answer with what the second answer adds or changes."""
    if first is None or second is None or (second.service or first.service) != first.service:
        return first if second is None else second
    merged: Mapping[str, object] = {
        "service": second.service or first.service,
        "parameters": {**first.parameters, **second.parameters},
        "inferred": {**first.inferred, **second.inferred},
        "confidence": {**first.confidence, **second.confidence},
        "forget": tuple(dict.fromkeys((*first.forget, *second.forget))),
        "unreadable": second.unreadable,
    }
    return Learned(**merged)  # type: ignore[arg-type]  # the fields by name


#: What an agent is told about values that were not kept.
_NOTE = """\
Your answer was not taken, because of these lines:
{faults}
Give the whole answer again, with the corrected lines. Leave what was right as it was. \
A line that is wrong again is left out."""


def memory_note(faults: Iterable[str]) -> str:
    """Return the request for a second answer, with what was wrong in the first one."""
    return _NOTE.format(faults="\n".join(fault if fault.endswith(".") else f"{fault}." for fault in faults))

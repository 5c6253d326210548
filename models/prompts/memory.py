"""Dialog memory in prompts: the form of an answer (static in a session), and the facts of one turn. Pure.

The form belongs to the system prompt, where a provider's cache keeps it. The facts change with each turn.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date

from pydantic import JsonValue

from ..memory.forms import ParameterForm, ServiceForm
from ..memory.masking import mask
from ..memory.parameters import ParameterKind, to_compact_json
from ..memory.recall import MemoryView

#: Maximum characters of one value in a prompt; the rest is counted.
MAX_VALUE = 500

_TYPES = {
    ParameterKind.TEXT: "text",
    ParameterKind.DATE: "date",
    ParameterKind.TIME: "time",
    ParameterKind.INTEGER: "number",
    ParameterKind.BOOLEAN: "yes/no",
    ParameterKind.TEXTS: "list",
    ParameterKind.OBJECT: "object",
    ParameterKind.ANY: "JSON",
}
#: Kinds whose values have a form of their own, with an example.
_VALUE_FORMS = {
    ParameterKind.DATE: "date 2026-02-14",
    ParameterKind.TIME: "time 18:30",
    ParameterKind.INTEGER: "number 2",
    ParameterKind.BOOLEAN: "yes/no true or false",
    ParameterKind.TEXTS: 'list ["Ann Lee", "Ben Moss"]',
    ParameterKind.OBJECT: 'object {"stars": 4}',
}
_EXAMPLES = {
    ParameterKind.TEXT: "as the user said it",
    ParameterKind.DATE: "2026-02-20",
    ParameterKind.TIME: "18:30",
    ParameterKind.INTEGER: "2",
    ParameterKind.BOOLEAN: "true",
    ParameterKind.TEXTS: '["Ann Lee"]',
    ParameterKind.OBJECT: '{"stars": 4}',
    ParameterKind.ANY: "as the user said it",
}

_FORM = """\
What a user wants is kept as parameters (* needed).{value_forms}
{services}
When the user states, changes or drops one, end your answer with lines like these, only for what the user said:
{example}
Never ask for what is known. Ask for at most two things in one answer."""


def memory_form(memory: MemoryView | None) -> str:
    """Return how an answer states parameters; empty in a session without memory."""
    if memory is None or not memory.forms:
        return ""
    forms = describe_value_forms(memory.forms)
    return _FORM.format(
        value_forms=f" Value forms: {forms}." if forms else "",
        services="\n".join(map(describe_service, memory.forms)),
        example=_example(memory.forms[0]),
    )


def describe_service(service: ServiceForm) -> str:
    """Return one line with the parameters of a service and their types; `*` marks required ones."""
    return f"{service.name}: {', '.join(map(_describe_parameter, service.parameters)) or 'any parameters'}"


def describe_value_forms(services: Sequence[ServiceForm]) -> str:
    """Return the forms of those values that are not plain text."""
    kinds = {parameter.kind for service in services for parameter in service.parameters}
    return ", ".join(form for kind, form in _VALUE_FORMS.items() if kind in kinds)


def _describe_parameter(parameter: ParameterForm) -> str:
    if parameter.kind is ParameterKind.CHOICE:
        kind = f"one of {'|'.join(parameter.choices)}"
    else:
        kind = _TYPES[parameter.kind]
    example = f' ("{parameter.example}")' if parameter.example else ""
    return f"{parameter.name}{'*' if parameter.required else ''} {kind}{example}"


def _example(service: ServiceForm) -> str:
    """Return the lines of an answer that states one parameter and drops another."""
    parameters = service.parameters or (ParameterForm(name="topic"),)
    stated = next((p for p in parameters if p.kind is ParameterKind.DATE), parameters[0])
    value = stated.example or (stated.choices[0] if stated.choices else _EXAMPLES[stated.kind])
    others = [p for p in parameters if p is not stated]
    dropped = next((p for p in reversed(others) if not p.required), stated)
    return f"SERVICE: {service.name}\nREMEMBER {stated.name}: {value}\nFORGET: {dropped.name}"


def memory_facts(memory: MemoryView | None) -> list[str]:
    """Return the lines about the user for one turn: date, service, what is known and needed; private values masked."""
    if memory is None:
        return []
    lines = [f"Today is {describe_date(memory.today)}."] if memory.today else []
    if memory.service:
        lines.append(f"The user is speaking of {memory.service}.")
    elif memory.unclear:
        lines.append(
            f"It is not clear whether the user speaks of {' or '.join(memory.unclear)}: ask, unless a message says so."
        )
    if memory.parameters:
        lines.append(f"Known: {'; '.join(_facts(memory))}.")
    if memory.service:
        lines.append(f"Needed: {', '.join(memory.missing) or 'nothing'}.")
    if memory.degraded:
        lines.append("The memory cannot be read now: earlier sessions may have stated more.")
    return lines


def _facts(memory: MemoryView) -> list[str]:
    private, unsure = memory.private, frozenset(memory.ask).difference(memory.missing)
    return [
        f"{name} {_describe_value(name, value, private=name in private)}"
        + (" (unsure, confirm it)" if name in unsure else "")
        for name, value in memory.parameters.items()
    ]


def _describe_value(name: str, value: JsonValue, *, private: bool) -> str:
    masked = mask(name, value, private=private)
    text = " ".join((masked if isinstance(masked, str) else to_compact_json(masked)).split())
    if len(text) > MAX_VALUE:
        text = f"{text[:MAX_VALUE]} … ({len(text)} characters)"
    return text if masked == value else f"{text} (known)"


def describe_date(day: date) -> str:
    """Return a date as `Friday, 6 February 2026`, in any locale."""
    weekdays = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
    months = (
        *("January", "February", "March", "April", "May", "June"),
        *("July", "August", "September", "October", "November", "December"),
    )
    return f"{weekdays[day.weekday()]}, {day.day} {months[day.month - 1]} {day.year}"


_PARSE = """\
Read what a user says as parameters. Take only what the user states, changes or drops; leave out all else, and guess nothing. \
Dates are counted from today. What the user refers to ("the same person") is known already: leave it out.
{value_forms}{services}
Answer with `service`, `set` (the parameters by name) and `forget` (names of those that the user drops)."""


def parser_purpose(memory: MemoryView) -> str:
    """Return what a model that reads a user's sentence is for: static for the services of a session."""
    forms = describe_value_forms(memory.forms)
    return _PARSE.format(
        value_forms=f"Value forms: {forms}.\n" if forms else "",
        services="\n".join(map(describe_service, memory.forms)),
    )


def parser_request(memory: MemoryView) -> str:
    """Return the request to read the newest message, with what is known."""
    return "\n".join([*memory_facts(memory), "Read the newest message of the user as parameters."])

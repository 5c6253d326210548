"""Values that an agent learned: the service they belong to, what is valid, and what is said about the rest."""

from __future__ import annotations

from datetime import date

import pytest

from symposia.models.errors import InvalidInput
from symposia.models.memory.checking import check_learned, infer_service, memory_note, merge_learned
from symposia.models.memory.forms import service_forms
from symposia.models.memory.learned import Learned
from symposia.models.memory.recall import MemoryView
from symposia.models.memory.sentences import answer_schema, read_model_answer, read_parsed
from symposia.models.memory.services import find_service, registered_services

DOCUMENTED = ("travel", "payment", "search", "scheduling", "email")
FORMS = service_forms(find_service(name) for name in DOCUMENTED)
TODAY = date(2026, 2, 6)


def view(service: str | None = None, *, only: str | None = None, **more) -> MemoryView:
    forms = tuple(form for form in FORMS if only in (None, form.name))
    return MemoryView(service=service, forms=forms, today=TODAY, **more)


@pytest.mark.parametrize(
    ("names", "current", "expected"),
    [
        (["from", "to"], None, ["travel"]),
        (["departure_date"], None, ["travel"]),
        (["to"], None, ["travel", "email"]),
        (["to", "subject"], None, ["email"]),
        (["mood"], None, []),
        ([], None, []),
        (["to"], "email", ["email"]),
        (["mood"], "travel", ["travel"]),
        (["amount", "recipient"], "travel", ["payment"]),
        (["query"], "travel", ["search"]),
        (["amount"], "travel", ["travel"]),
        (["amount", "recipient", "mood"], "travel", ["travel"]),
        (["to", "subject"], "travel", ["travel"]),
    ],
)
def test_service_is_inferred_from_the_parameters(names, current, expected):
    services = [find_service(name) for name in DOCUMENTED]
    service = find_service(current) if current else None
    assert [service.name for service in infer_service(names, service, services)] == expected


@pytest.mark.parametrize(
    ("learned", "memory", "fault"),
    [
        (
            {"parameters": {"departure_date": "next Friday"}},
            view("travel"),
            'REMEMBER departure_date: must be a date such as 2026-02-14 (got "next Friday"; today is 2026-02-06)',
        ),
        (
            {"parameters": {"departure_time": "noon"}},
            view("travel"),
            'REMEMBER departure_time: must be a time of day such as 18:30 (got "noon")',
        ),
        (
            {"inferred": {"passenger_count": "two"}},
            view("travel"),
            'REMEMBER passenger_count: must be a whole number such as 2 (got "two")',
        ),
        (
            {"parameters": {"cabin_class": "deck"}},
            view("travel"),
            'REMEMBER cabin_class: must be one of economy, business, first (got "deck")',
        ),
        (
            {"parameters": {"recipient": {"phone": "+254712345678"}}},
            view("payment"),
            'REMEMBER recipient: must be text (got {"phone":"****5678"})',
        ),
        (
            {"service": "alchemy", "parameters": {"to": "Gold"}},
            view("travel"),
            f"SERVICE: must be one of {', '.join(service.name for service in registered_services())} (got alchemy)",
        ),
        (
            {"parameters": {"to": "Rome"}},
            view(),
            "SERVICE: must be named, to may belong to travel or email",
        ),
        (
            {"forget": ("mood",)},
            view(only="travel"),
            "SERVICE: must be named, mood may belong to travel",
        ),
        ({"unreadable": ("REMEMBER a: b",)}, view("travel"), "REMEMBER a: b"),
    ],
)
def test_wrong_value_is_described_in_one_line(learned, memory, fault):
    checked = check_learned(Learned(**learned), memory)
    assert checked.faults == (fault,)
    assert f"\n{fault}.\n" in memory_note(checked.faults)


def test_valid_values_are_kept_with_their_service():
    learned = Learned(
        parameters={"to": "Rome", "cabin_class": "Business", "max_price": "two", "from": ""},
        inferred={"round_trip": "yes"},
        forget=("return_date",),
    )
    checked = check_learned(learned, view("travel"))
    assert checked.learned == Learned(
        service="travel",
        parameters={"to": "Rome", "cabin_class": "business"},
        inferred={"round_trip": True},
        forget=("return_date",),
    )
    assert len(checked.faults) == 1


@pytest.mark.parametrize(
    ("learned", "memory"),
    [(None, view()), (Learned(parameters={"to": "Rome"}), None), (Learned(), view())],
)
def test_nothing_learned_is_nothing_to_check(learned, memory):
    assert check_learned(learned, memory).faults == ()
    assert check_learned(learned, memory).learned is None


def test_memory_that_cannot_be_read_decides_later():
    learned = Learned(parameters={"to": "Rome"})
    checked = check_learned(learned, view(degraded=True))
    assert (checked.learned, checked.faults) == (learned, ())


def test_second_answer_completes_the_first():
    first = Learned(service="travel", parameters={"to": "Rome"}, forget=("from",))
    second = Learned(parameters={"departure_date": "2026-02-13"})
    merged = merge_learned(first, second)
    assert merged == first.changed(parameters={"to": "Rome", "departure_date": "2026-02-13"})
    other = Learned(service="email", parameters={"to": ["ann@example.org"]})
    assert merge_learned(first, other) == other, "the first answer was about another service"
    assert merge_learned(None, second) == second
    assert merge_learned(first, None) == first


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        ({"set": {"to": "Rome", "from": None}}, Learned(parameters={"to": "Rome"})),
        ({"service": "travel", "set": None, "forget": ["to"]}, Learned(service="travel", forget=("to",))),
        ({"to": "Rome"}, Learned(parameters={"to": "Rome"})),
        ({"service": "travel", "to": "Rome"}, Learned(service="travel", parameters={"to": "Rome"})),
        ({"set": {}, "forget": "to"}, Learned(forget=("to",))),
        ({"service": None, "set": {}, "forget": None}, Learned()),
    ],
)
def test_answer_of_a_model_is_read(data, expected):
    assert read_model_answer(data) == expected


@pytest.mark.parametrize("data", [[], "to: Rome", None, {"set": ["to"]}, {"set": {}, "forget": 7}])
def test_answer_in_another_form_is_refused(data):
    with pytest.raises(InvalidInput):
        read_model_answer(data)


def test_schema_has_types_where_services_agree():
    properties = answer_schema(FORMS)["properties"]
    parameters = properties["set"]["properties"]
    assert parameters["departure_date"] == {"type": "string", "description": "date as YYYY-MM-DD"}
    assert parameters["cabin_class"] == {"enum": ["economy", "business", "first"]}
    assert parameters["to"] == {}, "text for travel, a list for email"
    assert properties["service"]["enum"] == [*DOCUMENTED, None]


@pytest.mark.parametrize("parsed", ["to: Rome", 7, ["to"], {"to": object()}])
def test_parser_must_return_parameters(parsed):
    with pytest.raises(InvalidInput):
        read_parsed(parsed)

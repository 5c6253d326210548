"""The services, their typed parameters, and how values are read."""

from __future__ import annotations

import pytest

from symposia.models.errors import InvalidInput
from symposia.models.memory import services
from symposia.models.memory.parameters import Parameter, ParameterKind
from symposia.models.memory.services import Service, find_service, register_service, registered_services


def test_documented_services_exist():
    names = [service.name for service in registered_services()]
    assert names[:5] == ["travel", "payment", "search", "scheduling", "email"]


def test_travel_has_the_documented_parameters():
    documented = {
        *("from", "to", "departure_date", "departure_time", "return_date", "passenger_count", "cabin_class"),
        *("preferred_airline", "max_price", "flexible_dates"),
    }
    assert documented <= find_service("travel").by_name.keys()
    assert find_service("travel").required == ("from", "to")
    assert find_service("payment").by_name.keys() == {
        "amount",
        "currency",
        "recipient",
        "description",
        "reference",
    }
    assert find_service("search").by_name.keys() == {"query", "search_type", "filters"}


@pytest.mark.parametrize("name", ["hotels", "", None, 7, "Travel"])
def test_unknown_service_error_lists_the_known_ones(name):
    with pytest.raises(
        InvalidInput, match=r"^service: must be one of travel, payment, search, scheduling, email"
    ):
        find_service(name)


@pytest.mark.parametrize(
    ("service", "name", "value", "read"),
    [
        ("travel", "passenger_count", "2", 2),
        ("travel", "passenger_count", 2.0, 2),
        ("travel", "passenger_count", 0, 0),
        ("travel", "cabin_class", " Business ", "business"),
        ("travel", "flexible_dates", "no", False),
        ("travel", "departure_date", "2026-02-10", "2026-02-10"),
        ("travel", "departure_time", "09:30", "09:30"),
        ("travel", "passenger_names", "John Doe", ["John Doe"]),
        ("travel", "last_searches", [{"results": 12}], [{"results": 12}]),
        ("payment", "recipient", 254712345678, "254712345678"),
        ("search", "filters", {"stars": 4}, {"stars": 4}),
        ("email", "to", ["a@example.com"], ["a@example.com"]),
        ("scheduling", "recurrence", "Weekly", "weekly"),
    ],
)
def test_value_is_read_by_the_type_of_its_parameter(service, name, value, read):
    assert find_service(service).read(name, value) == read


@pytest.mark.parametrize(
    ("service", "name", "value", "line"),
    [
        ("travel", "passenger_count", "two", "passenger_count: must be a whole number (got 'two')"),
        ("travel", "passenger_count", True, "passenger_count: must be a whole number (got True)"),
        ("travel", "passenger_count", 1.5, "passenger_count: must be a whole number (got 1.5)"),
        (
            "travel",
            "cabin_class",
            "deck",
            "cabin_class: must be one of economy, business, first (got 'deck')",
        ),
        ("travel", "departure_date", "Feb 10", "departure_date: must be a date, YYYY-MM-DD (got 'Feb 10')"),
        (
            "travel",
            "departure_date",
            "2026-02-30",
            "departure_date: must be a date, YYYY-MM-DD (got '2026-02-30')",
        ),
        ("travel", "departure_time", "25:00", "departure_time: must be a time of day, HH:MM (got '25:00')"),
        ("travel", "from", ["Nairobi"], "from: must be text (got a list of 1)"),
        ("payment", "recipient", ["+254712345678"], "recipient: must be text (got a list of 1)"),
        ("payment", "amount", "0712345678x", "amount: must be a whole number (got '****5678x')"),
        ("search", "filters", "stars", "filters: must be an object of names and values (got 'stars')"),
        ("email", "to", [1], "to: must be a list of strings (got a list of 1)"),
        ("travel", "flexible_dates", "perhaps", "flexible_dates: must be true or false (got 'perhaps')"),
        ("travel", "notes", {1, 2}, "notes: must be valid JSON in UTF-8 (got a set of 2)"),
        ("travel", "notes", float("nan"), "notes: must be valid JSON in UTF-8 (got nan)"),
        ("travel", "notes", "\ud800", "notes: must be valid JSON in UTF-8 (got '\\ud800')"),
    ],
)
def test_invalid_value_is_refused_in_one_line(service, name, value, line):
    with pytest.raises(InvalidInput) as refused:
        find_service(service).read(name, value)
    assert str(refused.value) == line


def test_a_refused_private_value_is_not_shown():
    with pytest.raises(InvalidInput) as refused:
        find_service("email").read("reply_to", {"a": 1})
    assert "a mapping" in str(refused.value)
    number = Service("loan", (Parameter("income", ParameterKind.INTEGER, private=True),))
    with pytest.raises(InvalidInput) as refused:
        number.read("income", "about 90,000,000")
    assert "90,000" not in str(refused.value)


def test_too_deep_nesting_is_refused():
    deep: object = 1
    for _ in range(50):
        deep = [deep]
    with pytest.raises(InvalidInput, match="must not nest deeper than 16 levels"):
        find_service("search").read("anything", deep)


@pytest.mark.parametrize("name", ["", " ", "a\nb", "x" * 65, 7])
def test_a_name_must_be_readable(name):
    with pytest.raises(InvalidInput, match="must be a parameter name"):
        find_service("search").read(name, 1)


def test_registering_adds_a_service(monkeypatch):
    monkeypatch.setattr(services, "_SERVICES", dict(services._SERVICES))  # other tests list the services
    hotel = Service("hotel", (Parameter("city", required=True), Parameter("nights", ParameterKind.INTEGER)))
    assert register_service(hotel) is hotel
    assert register_service(Service("hotel", hotel.parameters)) == hotel
    assert find_service("hotel").required == ("city",)
    with pytest.raises(
        InvalidInput, match=r"service: must be unique: a different service has this name \(got 'travel'\)"
    ):
        register_service(Service("travel"))


@pytest.mark.parametrize("name", ["Hotel", "hotel rooms", "", "1st", "x" * 40])
def test_a_service_has_a_plain_name(name):
    with pytest.raises(InvalidInput, match=r"^service: must be at most 32 lower-case letters"):
        Service(name)


def test_a_service_names_each_parameter_once():
    with pytest.raises(InvalidInput, match=r"hotel\.parameters: must have different names"):
        Service("hotel", (Parameter("city"), Parameter("city")))


def test_choices_need_the_choice_type():
    with pytest.raises(
        InvalidInput, match=r"size\.choices: is required for kind `choice`, and not allowed for other kinds"
    ):
        Parameter("size", ParameterKind.CHOICE)
    with pytest.raises(InvalidInput, match=r"size\.choices"):
        Parameter("size", choices=("small",))


def test_valid_and_invalid_values_are_separated():
    good, bad = find_service("travel").split_valid({"to": "London", "from": "", "passenger_count": "many"})
    assert good == {"to": "London"}
    assert [str(error) for error in bad] == ["travel.passenger_count: must be a whole number (got 'many')"]


@pytest.mark.parametrize("value", [254712345678.5, float("inf")])
def test_refused_private_value_is_masked_in_the_error(value):
    with pytest.raises(InvalidInput) as refused:
        find_service("payment").read("recipient", value)
    assert "2547" not in str(refused.value)

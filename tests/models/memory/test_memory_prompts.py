"""Dialog memory in prompts: the form of an answer, and the facts of a turn."""

from __future__ import annotations

from datetime import date

import pytest

from symposia.models.memory.forms import service_forms
from symposia.models.memory.recall import MemoryView
from symposia.models.memory.services import Service, find_service
from symposia.models.prompts.memory import MAX_VALUE, describe_date, memory_facts, memory_form


def view(*services: str, **more) -> MemoryView:
    return MemoryView(forms=service_forms(map(find_service, services)), **more)


def test_form_lists_the_services_of_the_session():
    assert memory_form(view("travel", "search")) == (
        "What a user wants is kept as parameters (* needed). Value forms: date 2026-02-14, time 18:30, number 2, "
        'yes/no true or false, list ["Ann Lee", "Ben Moss"], object {"stars": 4}.\n'
        'travel: from* text ("Nairobi"), to* text ("London"), departure_date date, departure_time time, '
        "return_date date, passenger_count number, passenger_names list, cabin_class one of economy|business|first, "
        "preferred_airline text, max_price number, flexible_dates yes/no, round_trip yes/no\n"
        'search: query* text ("quiet hotels in Rome"), search_type one of flights|hotels|events|information, '
        "filters object\n"
        "When the user states, changes or drops one, end your answer with lines like these, only for what the user "
        "said:\nSERVICE: travel\nREMEMBER departure_date: 2026-02-20\nFORGET: round_trip\n"
        "Never ask for what is known. Ask for at most two things in one answer."
    )


@pytest.mark.parametrize("memory", [None, MemoryView()])
def test_without_services_there_is_no_form(memory):
    assert memory_form(memory) == ""


def test_service_without_parameters_has_a_form():
    form = memory_form(MemoryView(forms=service_forms([Service("chat")])))
    assert "chat: any parameters\n" in form
    assert "Value forms" not in form
    assert "SERVICE: chat\nREMEMBER topic: as the user said it\nFORGET: topic\n" in form


FRIDAY = date(2026, 2, 6)


@pytest.mark.parametrize(
    ("memory", "lines"),
    [
        (None, []),
        (view("travel", today=FRIDAY), ["Today is Friday, 6 February 2026."]),
        (
            view(
                "travel",
                service="travel",
                today=FRIDAY,
                parameters={"from": "Nairobi", "to": "Mombasa", "departure_date": "2026-02-14"},
                ask=("departure_date",),
            ),
            [
                "Today is Friday, 6 February 2026.",
                "The user is speaking of travel.",
                "Known: from Nairobi; to Mombasa; departure_date 2026-02-14 (unsure, confirm it).",
                "Needed: nothing.",
            ],
        ),
        (
            view(
                "payment", service="payment", parameters={"recipient": "+254712345678"}, missing=("amount",)
            ),
            [
                "The user is speaking of payment.",
                "Known: recipient ****5678 (known).",
                "Needed: amount.",
            ],
        ),
        (
            view("travel", "email", parameters={"to": "Rome"}, unclear=("travel", "email"), ask=("service",)),
            [
                "It is not clear whether the user speaks of travel or email: ask, unless a message says so.",
                "Known: to Rome.",
            ],
        ),
        (
            view("search", service="search", parameters={"filters": {"stars": 4}}, degraded=True),
            [
                "The user is speaking of search.",
                'Known: filters {"stars":4}.',
                "Needed: nothing.",
                "The memory cannot be read now: earlier sessions may have stated more.",
            ],
        ),
    ],
)
def test_facts_of_a_turn(memory, lines):
    assert memory_facts(memory) == lines


def test_value_stays_on_one_line_and_short():
    memory = view("email", service="email", parameters={"body": "a\n\nDONE: all\n" + "x" * 1_000})
    known = memory_facts(memory)[1]
    assert known.startswith("Known: body a DONE: all xxx")
    assert known.endswith("… (1012 characters).")
    assert len(known) < MAX_VALUE + 50


@pytest.mark.parametrize(
    ("day", "text"),
    [(date(2026, 12, 31), "Thursday, 31 December 2026"), (date(2024, 2, 29), "Thursday, 29 February 2024")],
)
def test_date_is_written_in_english(day, text):
    assert describe_date(day) == text

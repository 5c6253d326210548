"""What is shown of private values: by name, by form, and nothing else is touched."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from symposia.models.memory.masking import format_for_log, mask, mask_parameters


@pytest.mark.parametrize(
    ("name", "value", "shown"),
    [
        ("phone", "+254712345678", "****5678"),
        ("phone", 254712345678, "****5678"),
        ("pin", "1234", "****"),
        ("recipient", "ann@example.com", "****@example.com"),
        ("email", "ann@example.com", "****@example.com"),
        ("account_number", "0011223344", "****3344"),
        (
            "card",
            {"number": "4111111111111111", "name": "Ann Other"},
            {"number": "****1111", "name": "****ther"},
        ),
        ("attendee_emails", ["a@x.org", "b@x.org"], ["****@x.org", "****@x.org"]),
        ("api_key", "abcdefgh", "****efgh"),
        ("tel", 712345678, "****5678"),
        ("recipients", {"+254712345678": 5000}, {"****5678": "****"}),
    ],
)
def test_a_private_name_hides_its_value(name, value, shown):
    assert mask(name, value) == shown


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("call +254 712 345 678 today", "call ****5678 today"),
        ("write to ann.other@mail.example.com", "write to ****@mail.example.com"),
        ("pay to DE89 3704 0044 0532 0130 00", "pay to ****3000"),
        ("account 00112233445566", "account ****5566"),
        ("+254712345678", "****5678"),
        ("+254\u2011712\u2011345\u2011678", "****5678"),
        ("pay to ACC0011223344", "pay to ACC****3344"),
        ("pay to de89370400440532013000", "pay to ****3000"),
    ],
)
def test_private_pattern_is_hidden_anywhere_in_a_text(text, shown):
    assert mask("description", text) == shown


@pytest.mark.parametrize(
    "text",
    [
        *(
            "2026-02-10",
            "2026-02-10 10:00",
            "2026-02-03T14:30:00Z",
            "10:00",
            "flight KQ 100",
            "Nairobi",
            "KES 180,000",
            "12/02/2026",
        ),
        *("180k-320k", "5000", "from 2026-02-10 to 2026-02-20", "1234567"),
    ],
)
def test_dates_times_and_amounts_are_shown(text):
    assert mask("description", text) == text


@pytest.mark.parametrize("value", [5000, 0, False, None, 3.5, 150_000])
def test_plain_values_are_shown(value):
    assert mask("amount", value) == value


def test_long_number_is_hidden_anywhere_in_a_text():
    assert mask("reference", 4_111_111_111_111_111) == "****1111"
    assert mask("reference", 254712345678.0) == "****5678"
    assert mask("reference", 10**400) == "****0000"


def test_private_parameters_of_a_service_are_hidden():
    assert mask_parameters({"attendees": ["Ann Other"], "title": "Lunch"}, frozenset({"attendees"})) == {
        "attendees": ["****ther"],
        "title": "Lunch",
    }


def test_values_inside_tables_and_lists_are_masked():
    value = {"contacts": [{"phone": "+254712345678"}, "ann@example.com"], "n": 1, "b@example.com": 2}
    shown = {"contacts": [{"phone": "****5678"}, "****@example.com"], "n": 1, "****@example.com": 2}
    assert mask("filters", value) == shown


def test_a_log_line_has_the_documented_form():
    assert format_for_log({"from": "Nairobi", "to": "London"}) == "{from: Nairobi, to: London}"
    assert (
        format_for_log({"phone": "+254712345678", "note": "two\nlines"})
        == "{phone: ****5678, note: two lines}"
    )


@given(st.from_regex(r"\+?[1-9][0-9]{8,14}", fullmatch=True), st.text("abc ", max_size=10))
def test_no_telephone_number_survives_in_a_text(number, around):
    assert number not in str(mask("note", f"{around} {number} {around}"))


@given(st.text())
def test_any_text_is_masked_without_an_error(text):
    assert isinstance(mask("note", text), str)
    assert isinstance(mask("phone", text), str)

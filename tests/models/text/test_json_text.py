"""JSON in the text of an answer."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from symposia.models.text.json_text import read_json


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ('{"a": 1}', {"a": 1}),
        (" [1, 2]\n", [1, 2]),
        ('Here:\n```json\n{"a": 1}\n```\nBye.', {"a": 1}),
        ("```\n7\n```", 7),
        ("```json\n1\n```\nor\n```json\n2\n```", 2),
        ("```json\n1\n```\n```python\nprint()\n```", 1),
        ("DONE: fine\n  ```json\n  {}\n  ```", {}),
    ],
)
def test_text_or_its_last_block_is_read(text, value):
    assert read_json(text) == value


@pytest.mark.parametrize(
    "text", ["", "no", "NaN", "[1, Infinity]", "```json\n{", "```python\n1\n```", "[" * 100_000]
)
def test_other_text_has_no_json(text):
    with pytest.raises(ValueError):  # noqa: PT011 - of several parsers
        read_json(text)


@given(st.text())
def test_any_text_is_read_or_refused(text):
    try:
        value = read_json(text)
    except ValueError:
        return
    assert json.loads(json.dumps(value)) == value

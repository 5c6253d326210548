"""What a message shows of a text that may hold a password."""

from __future__ import annotations

import pytest

from symposia.models.text.redact import clean_text, without_password


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("redis://:hunter2@host:6379/0", "redis://:***@host:6379/0"),
        ("at redis://user:hu@nt/er2@host/0, or so", "at redis://user:***@host/0, or so"),
        ("user:hunter2@host:6379/0", "user:***@host:6379/0"),
        ("redis://host/0?password=hunter2&db=1", "redis://host/0?password=***&db=1"),
        ("rediss://host?db=1&ssl_password=hunter2", "rediss://host?db=1&ssl_password=***"),
        ("https://host/v1?API_KEY=hunter2#top", "https://host/v1?API_KEY=***"),
        ("sentinel://:hunter2@a;sentinel://:hunter2@b", "sentinel://:***@b"),
        ("https://user@host/a=b?c=d", "https://user@host/a=b?c=d"),
        ("at 12:30 write to ann@host, please: now", "at 12:30 write to ann@host, please: now"),
    ],
)
def test_password_in_a_url_is_hidden(text: str, shown: str) -> None:
    assert without_password(text) == shown


@pytest.mark.parametrize("unit", ["://", "a:", ":@", "?", "?token", "&a=b", "://:@ "])
def test_megabyte_of_text_is_scanned_once(unit: str) -> None:
    without_password(unit * (1_048_576 // len(unit)) + "@")


@pytest.mark.parametrize("unit", ["\x9d", "\x1b]", "\x1b[", "\x9b0"])
def test_megabyte_of_terminal_sequences_is_cleaned(unit: str) -> None:
    clean_text(unit * (1_048_576 // len(unit)) + "\n")

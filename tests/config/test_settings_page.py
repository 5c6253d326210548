"""docs/settings.md is what config/settings.py says, and every setting is explained."""

from __future__ import annotations

import runpy
from pathlib import Path

import pytest

from symposia.config.described import describe_settings

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "settings.md"


def test_page_is_what_would_be_generated() -> None:
    generated = runpy.run_path(str(ROOT / ".ci" / "settings_page.py"))["render_page"]()
    assert PAGE.read_text() == generated, "run `make settings-page`"


@pytest.mark.parametrize("described", describe_settings(), ids=lambda it: it.name)
def test_every_setting_has_a_meaning_and_a_default(described) -> None:
    assert described.meaning.endswith(".")
    assert described.default not in ("", "None", "PydanticUndefined")


@pytest.mark.parametrize(
    ("name", "default", "limits"),
    [
        ("lease_s", "30", "1 to 3,600"),
        ("tenant_daily_usd", "no limit", "0.000001 to 1,000,000"),
        ("flower_port", "5555", "1 to 65535"),
        ("archive", "true", ""),
        ("log_format", "text", "text, json"),
    ],
)
def test_defaults_and_limits_are_shown_in_words(name: str, default: str, limits: str) -> None:
    (described,) = [it for it in describe_settings() if it.name == name]
    assert (described.default, described.limits) == (default, limits)


def test_alternative_variable_is_shown() -> None:
    assert describe_settings()[0].variables == ("SYMPOSIA_REDIS_URL", "REDIS_URL")

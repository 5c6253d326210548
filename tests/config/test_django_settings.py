"""The table SYMPOSIA of Django's settings comes after the environment and before the settings file."""

from __future__ import annotations

import subprocess
import sys

import pytest

from programs import find_frameworks

LOAD = """
import sys
{start}
from symposia.config.described import settings_in_use
from symposia.config.settings import load_settings
from symposia.models.errors import InvalidInput
try:
    shown = {{value.description.name: (value.value, value.source) for value in settings_in_use(load_settings())}}
    print(*shown["lease_s"], *shown["max_turns"], "django.conf" in sys.modules)
except InvalidInput as error:
    print(error)
"""
TABLE = "settings.SYMPOSIA['lease_s']"


def load(tmp_path, settings, *, start="import django", **variables):
    (tmp_path / "shop_settings.py").write_text(settings)
    (tmp_path / "symposia.toml").write_text("lease_s = 5\n")
    (tmp_path / "load.py").write_text(LOAD.format(start=start))
    env = {
        "DJANGO_SETTINGS_MODULE": "shop_settings",
        "PYTHONPATH": ":".join(filter(None, [*sys.path, str(find_frameworks())])),
        **variables,
    }
    run = subprocess.run(
        [sys.executable, "load.py"], cwd=tmp_path, env=env, capture_output=True, text=True, check=True
    )
    return run.stdout.strip()


@pytest.mark.parametrize(
    ("start", "variables", "expected"),
    [
        ("import django", {}, f"7 {TABLE} 60 settings.SYMPOSIA['max_turns'] True"),
        (
            "import django",
            {"SYMPOSIA_LEASE_S": "9"},
            "9 SYMPOSIA_LEASE_S 60 settings.SYMPOSIA['max_turns'] True",
        ),
        ("import django", {"DJANGO_SETTINGS_MODULE": ""}, "5 {file} 10000 default True"),
        ("", {}, "5 {file} 10000 default False"),
    ],
    ids=["table", "environment", "not configured", "not imported"],
)
def test_order_of_sources(tmp_path, start, variables, expected):
    table = 'SYMPOSIA = {"lease_s": 7, "max_turns": 60, "database_url": None}'
    shown = load(tmp_path, table, start=start, **variables)
    assert shown == expected.format(file=tmp_path / "symposia.toml")


@pytest.mark.parametrize(
    ("settings", "error"),
    [
        ('SYMPOSIA = {"lease_s": 0}', f"{TABLE}: must be greater than or equal to 1 (got 0)"),
        (
            'SYMPOSIA = {"lese_s": 7}',
            "settings.SYMPOSIA: has an unknown key, did you mean lease_s? (got 'lese_s')",
        ),
        ('SYMPOSIA = "redis://x"', "settings.SYMPOSIA: must be a table of settings by name (got 'str')"),
    ],
)
def test_wrong_table_is_refused_in_one_line(tmp_path, settings, error):
    assert load(tmp_path, settings) == error

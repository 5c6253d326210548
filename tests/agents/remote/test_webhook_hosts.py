"""Allowed host names of webhooks."""

from __future__ import annotations

import pytest
from pydantic import ValidationError

from symposia.agents.tables import Webhooks

LONGEST = "a" * 253


@pytest.mark.parametrize("host", ["hooks.example.com", "*.example.com", "10.0.0.1", LONGEST, f"*.{LONGEST}"])
def test_host_names_and_suffixes_are_accepted(host):
    assert Webhooks(hosts=(host,)).hosts == (host,)


@pytest.mark.parametrize("host", ["", "*.", "a b", "https://a", "a/b", f"{LONGEST}a", f"*.{LONGEST}a"])
def test_invalid_or_long_host_name_is_refused(host):
    with pytest.raises(ValidationError):
        Webhooks(hosts=(host,))

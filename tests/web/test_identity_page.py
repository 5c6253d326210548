"""The blocks of docs/identity.md."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from documents.pages import Page
from symposia.client import Client
from symposia.config.settings import load_settings
from symposia.models.identity import Scope

IDENTITY = Page("docs/identity.md")
TOKENS = IDENTITY.take("python", "client.tokens.create")
USERS = IDENTITY.take("json", "ann")


def test_token_is_created_and_revoked(
    redis_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("SYMPOSIA_REDIS_URL", redis_url)
    names: dict[str, Any] = {}
    exec(TOKENS, names)  # noqa: S102 - the page's own code
    assert capsys.readouterr().out.strip() == names["token"].text
    with Client(load_settings(redis_url=redis_url, data_dir=tmp_path)) as client:
        assert client.tokens.entries() == []


def test_users_of_flower_are_a_setting() -> None:
    users = load_settings(flower_users=USERS).flower_users
    assert users["ann"].tenant == "shop"
    assert users["ops"].scopes == (Scope.ADMIN,)
    assert json.loads(USERS).keys() == users.keys()

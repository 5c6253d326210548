"""Fuzzed answers of people and callbacks of remote systems are accepted or refused without a crash."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import strategies as st

from documents.hammer import JSON, TEXTS, as_json, depths, garbled, hammer, nearly
from servers.remote_system import SECRET, RemoteSystem
from sessions.inline_installation import InlineInstallation
from symposia.agents.remote.webhook import SIGNATURE, signed_headers
from symposia.jobs.collab import CollabJob
from symposia.workers.callbacks import Receiver

pytestmark = pytest.mark.leaves_keys

REGISTRY = """
[webhooks]
hosts = ["127.0.0.1"]
networks = ["127.0.0.0/8"]
callback_url = "https://symposia.example/replies"

[agents.partner]
kind = "external"
url = "{url}"
secret_env = "PARTNER_SECRET"
"""
STATUSES = {200, 400, 401, 409, 422}


@pytest.fixture
def system() -> Iterator[RemoteSystem]:
    it = RemoteSystem()
    yield it
    it.close()


@pytest.fixture
def installation(
    tmp_path: Path, redis_url: str, system: RemoteSystem, monkeypatch: pytest.MonkeyPatch
) -> Iterator[InlineInstallation]:
    monkeypatch.setenv("PARTNER_SECRET", SECRET)
    installation = InlineInstallation(tmp_path, redis_url, REGISTRY.replace("{url}", system.url))
    yield installation
    installation.close()


@pytest.fixture
def asked(installation: InlineInstallation) -> CollabJob:
    """A session that waits for a person."""
    job = installation.submit("pair", {"ann": "noop"}, people=["ben"])
    installation.work()
    return job


@pytest.fixture
def letter(installation: InlineInstallation, system: RemoteSystem) -> dict[str, Any]:
    """Return the webhook body that a remote system got for its turn."""
    installation.submit("pair", {"ann": "noop", "bot": "partner"})
    installation.work()
    (letter,) = system.letters
    return letter


@depths
def test_fuzzed_answers_of_people(asked: CollabJob, examples: int) -> None:
    odd = JSON | st.binary(max_size=5) | st.sampled_from(["ben", "ann", print, 1j, (1, 2)])
    texts = st.tuples(st.just("ben"), TEXTS, st.none(), st.none() | st.integers())
    others = st.tuples(odd, odd, odd, odd)

    def use(given: tuple[Any, Any, Any, Any]) -> None:
        name, text, token, turn = given
        asked.reply(name, text, token=token, turn=turn)

    hammer(others | texts, use, examples=examples)


@depths
def test_fuzzed_signed_callbacks(
    installation: InlineInstallation, letter: dict[str, Any], examples: int
) -> None:
    receiver = Receiver(installation.client, installation.runtime.agents.registry)
    fields = {name: letter[name] for name in ("session_id", "turn_number", "participant", "reply_token")}
    bodies = garbled(as_json(nearly({**fields, "text": "hello"}))) | as_json(JSON) | TEXTS

    def use(text: str) -> None:
        body = text.encode(errors="surrogatepass")
        verdict = receiver.receive(signed_headers(SECRET, "m", body, now_s=int(time.time())), body)
        assert verdict.status in STATUSES
        assert "\n" not in verdict.error

    hammer(bodies, use, examples=examples)


@depths
def test_fuzzed_callback_headers(
    installation: InlineInstallation, letter: dict[str, Any], examples: int
) -> None:
    receiver = Receiver(installation.client, installation.runtime.agents.registry)
    body = f'{{"session_id": "{letter["session_id"]}", "turn_number": 2, "participant": "bot", '
    body += f'"reply_token": "{letter["reply_token"]}", "text": "hello"}}'
    signed = signed_headers(SECRET, "m", body.encode(), now_s=int(time.time()))
    values = st.one_of(TEXTS, garbled(st.sampled_from(sorted(signed.values()))))
    headers = st.fixed_dictionaries({}, optional=dict.fromkeys(signed, values))

    def use(given: dict[str, str]) -> None:
        # Of several signatures, between blanks, one is enough.
        has_it = signed[SIGNATURE] in given.get(SIGNATURE, "").split()
        if not has_it or {**given, SIGNATURE: signed[SIGNATURE]} != signed:
            assert receiver.receive(given, body.encode()).status == 401

    hammer(headers, use, examples=examples)

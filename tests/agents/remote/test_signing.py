"""Signed messages: the scheme of Standard Webhooks, and what does not pass for genuine."""

from __future__ import annotations

import hmac
from base64 import b64encode
from hashlib import sha256

import pytest
from hypothesis import given
from hypothesis import strategies as st

from symposia.agents.remote.webhook import TOLERANCE_S, refusal, signed_headers

NOW = 1_700_000_000
printable = st.text(st.characters(min_codepoint=33, max_codepoint=126), min_size=1, max_size=40)


def test_signature_matches_the_published_example():
    """From the reference implementations of Standard Webhooks."""
    headers = signed_headers(
        "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw",
        "msg_p5jXN8AQM9LWM0D4loKWxJek",
        b'{"test": 2432232314}',
        now_s=1_614_265_330,
    )
    assert headers == {
        "webhook-id": "msg_p5jXN8AQM9LWM0D4loKWxJek",
        "webhook-timestamp": "1614265330",
        "webhook-signature": "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=",
    }


@given(secret=printable, message_id=printable, body=st.binary(max_size=200))
def test_only_the_signed_content_is_genuine(secret, message_id, body):
    headers = signed_headers(secret, message_id, body, now_s=NOW)
    assert refusal(secret, headers, body, now_s=NOW) is None
    assert refusal(secret, headers, body + b"x", now_s=NOW) == "forged"
    assert refusal(secret + "x", headers, body, now_s=NOW) == "forged"
    assert refusal(secret, {**headers, "webhook-id": message_id + "x"}, body, now_s=NOW) == "forged"
    assert refusal(secret, {**headers, "webhook-timestamp": str(NOW + 1)}, body, now_s=NOW) == "forged"


@pytest.mark.parametrize(
    ("age_s", "verdict"),
    [
        (0, None),
        (TOLERANCE_S, None),
        (-TOLERANCE_S, None),
        (TOLERANCE_S + 1, "expired"),
        (-TOLERANCE_S - 1, "expired"),
    ],
)
def test_signature_is_valid_for_five_minutes(age_s, verdict):
    headers = signed_headers("s", "1", b"x", now_s=NOW - age_s)
    assert refusal("s", headers, b"x", now_s=NOW) == verdict


def test_one_of_several_signatures_is_enough():
    headers = signed_headers("s", "1", b"x", now_s=NOW)
    both = {**headers, "webhook-signature": f"v1,AAAA v2,zzz {headers['webhook-signature']}"}
    assert refusal("s", both, b"x", now_s=NOW) is None


@given(
    headers=st.fixed_dictionaries(
        {},
        optional={
            name: st.text(max_size=60) for name in ("webhook-id", "webhook-timestamp", "webhook-signature")
        },
    )
)
def test_any_signature_headers_are_judged(headers):
    assert refusal("s", headers, b"x", now_s=NOW) in ("unsigned", "expired", "forged")


def test_empty_secret_verifies_nothing():
    body = b"{}"
    empty = b64encode(hmac.new(b"", b"7." + str(NOW).encode() + b"." + body, sha256).digest()).decode()
    headers = {"webhook-id": "7", "webhook-timestamp": str(NOW), "webhook-signature": f"v1,{empty}"}
    assert refusal("whsec_", headers, body, now_s=NOW) == "forged"

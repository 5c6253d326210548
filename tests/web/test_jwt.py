"""Callers with JSON Web Tokens: real keys, and a real server of the keys."""

from __future__ import annotations

import asyncio
import json
import time
from base64 import urlsafe_b64encode
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import jwt
import pytest
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat
from jwt.algorithms import ECAlgorithm, RSAAlgorithm

from scaling import patient
from symposia.config.settings import Settings, load_settings
from symposia.errors import InvalidInput, Unauthorized
from symposia.models.identity import Caller, Scope
from symposia.web.jwt_keys import COOLDOWN_S, LIFETIME_S, KeySet
from symposia.web.jwt_tokens import JwtVerifier

RSA = rsa.generate_private_key(public_exponent=65_537, key_size=2_048)
EC = ec.generate_private_key(ec.SECP256R1())
OTHER = rsa.generate_private_key(public_exponent=65_537, key_size=2_048)
RSA_JWK = {**RSAAlgorithm.to_jwk(RSA.public_key(), as_dict=True), "kid": "r", "use": "sig"}
EC_JWK = {**ECAlgorithm.to_jwk(EC.public_key(), as_dict=True), "kid": "e"}
SECRET = b"s" * 32
SECRET_JWK = {"kty": "oct", "k": urlsafe_b64encode(SECRET).decode().rstrip("="), "kid": "s"}
ANN = Caller("auth0|ann", "shop", frozenset({Scope.READ, Scope.REPLY}))


def claims(**changes: Any) -> dict[str, Any]:
    """Valid claims with changes; None leaves a claim out."""
    own = {
        "iss": "https://login.example",
        "aud": "symposia",
        "sub": "auth0|ann",
        "tenant": "shop",
        "scope": "openid read symposia:reply",
        "exp": time.time() + 600,
    }
    return {name: value for name, value in {**own, **changes}.items() if value is not None}


def signed(key: Any = RSA, algorithm: str = "RS256", kid: str | None = "r", **changes: Any) -> str:
    headers = {} if kid is None else {"kid": kid}
    return jwt.encode(claims(**changes), key, algorithm=algorithm, headers=headers)


def settings_for(source: str, **more: Any) -> Settings:
    values = {"http_jwt_issuer": "https://login.example", "http_jwt_audience": "symposia", **more}
    return load_settings(http_jwt_keys=source, **values)


@pytest.fixture
def key_file(tmp_path: Path) -> Path:
    path = tmp_path / "keys.json"
    path.write_text(json.dumps({"keys": [RSA_JWK, EC_JWK]}))
    return path


@pytest.fixture
def find(key_file: Path) -> Callable[[str], Caller]:
    verifier = JwtVerifier(settings_for(str(key_file)))
    return lambda token: asyncio.run(verifier.find_caller(token))


def test_claims_are_the_caller(find: Callable[[str], Caller]) -> None:
    assert find(signed()) == ANN
    assert find(signed(EC, "ES256", "e", scope=["admin", "other"])).scopes == {Scope.ADMIN}


def test_names_of_claims_are_settings(key_file: Path) -> None:
    names = {
        "http_jwt_name_claim": "email",
        "http_jwt_tenant_claim": "org",
        "http_jwt_scope_claim": "permissions",
    }
    verifier = JwtVerifier(settings_for(str(key_file), **names))
    token = signed(email="ann@shop.example", org="acme", permissions=["control"], tenant=None, scope=None)
    assert asyncio.run(verifier.find_caller(token)) == Caller(
        "ann@shop.example", "acme", frozenset({Scope.CONTROL})
    )


def repr_of(changes: dict[str, Any]) -> str:
    """The name of a case, the same in each process."""
    return "-".join(
        f"{name}={'key' if name == 'key' else str(value)[:20]}" for name, value in changes.items()
    )


@pytest.mark.parametrize(
    "changes",
    [
        {"exp": None},
        {"exp": 1_700_000_000},
        {"exp": "soon"},
        {"nbf": 32_000_000_000},
        {"iss": "https://other.example"},
        {"iss": None},
        {"aud": "other"},
        {"aud": None},
        {"tenant": None},
        {"tenant": ""},
        {"tenant": ["shop"]},
        {"tenant": "a/../b"},
        {"sub": None},
        {"sub": "a\nb"},
        {"sub": "x" * 101},
        {"scope": None},
        {"scope": "openid profile"},
        {"scope": {"read": True}},
        {"kid": "unknown"},
        {"kid": None},
        {"key": OTHER},
        {"kid": "e"},
        {"algorithm": "RS512"},
        {"algorithm": "PS256"},
    ],
    ids=repr_of,
)
def test_wrong_token_is_refused(find: Callable[[str], Caller], changes: dict[str, Any]) -> None:
    with pytest.raises(Unauthorized):
        find(signed(**changes))


def _unsigned(header: dict[str, Any], signature: str = "") -> str:
    parts = (urlsafe_b64encode(json.dumps(it).encode()).decode().rstrip("=") for it in (header, claims()))
    return f"{'.'.join(parts)}.{signature}"


@pytest.mark.parametrize(
    "token",
    [
        _unsigned({"alg": "none", "kid": "r"}),
        _unsigned({"alg": "RS256", "kid": ["r"]}, "AAAA"),
        _unsigned({"alg": "RS256", "kid": {}}, "AAAA"),
        _unsigned({"alg": ["RS256"], "kid": "r"}, "AAAA"),
        _unsigned({"alg": "RS256", "kid": "r", "jwk": RSA_JWK, "crit": ["x"]}, "AAAA"),
        "",
        "a.b.c",
        "...",
        "a" * 100_000,
        "é.é.é",
    ],
    ids=lambda token: token[:30],
)
def test_hostile_token_is_refused(find: Callable[[str], Caller], token: str) -> None:
    with pytest.raises(Unauthorized):
        find(token)


def test_public_key_is_no_secret(find: Callable[[str], Caller]) -> None:
    """A token signed with HMAC and the text of the public key would be valid if the token chose the algorithm."""
    import hashlib
    import hmac

    pem = RSA.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)
    body = _unsigned({"alg": "HS256", "typ": "JWT", "kid": "r"}).rstrip(".")
    mac = hmac.new(pem, body.encode(), hashlib.sha256).digest()
    with pytest.raises(Unauthorized):
        find(f"{body}.{urlsafe_b64encode(mac).decode().rstrip('=')}")


def test_issuer_and_audience_are_required(key_file: Path) -> None:
    for missing in ("http_jwt_issuer", "http_jwt_audience"):
        with pytest.raises(InvalidInput, match=missing):
            JwtVerifier(settings_for(str(key_file), **{missing: None}))


@pytest.mark.parametrize(
    "source", ["http://login.example/keys", "file:///etc/passwd", "https://a:b@login.example/"]
)
def test_keys_come_by_https(source: str) -> None:
    with pytest.raises(InvalidInput, match="HTTP_JWT_KEYS"):
        settings_for(source)


class KeyServer:
    """A server of keys on loopback, which counts its requests."""

    def __init__(self) -> None:
        self.answer: tuple[int, bytes] = (200, json.dumps({"keys": [RSA_JWK, SECRET_JWK]}).encode())
        self.requests = 0
        owner = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                owner.requests += 1
                status, body = owner.answer
                self.send_response(status)
                if status == 302:
                    self.send_header("Location", "/other")
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_: object) -> None:
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}/keys"


@pytest.fixture
def server() -> Iterator[KeyServer]:
    server = KeyServer()
    thread = Thread(target=server.server.serve_forever, args=(0.02,))
    thread.start()
    yield server
    server.server.shutdown()
    server.server.server_close()
    thread.join(patient(10))


def test_unknown_keys_cause_no_fetch_storm(server: KeyServer) -> None:
    clock = [0.0]
    keys = KeySet(server.url, now=lambda: clock[0])

    async def ask() -> list[object]:
        return await asyncio.gather(*(keys.find(f"unknown-{n}") for n in range(200)))

    assert asyncio.run(ask()) == [None] * 200
    assert server.requests == 1
    clock[0] += COOLDOWN_S + 1
    assert asyncio.run(keys.find("r")) is not None
    assert server.requests == 1
    asyncio.run(keys.find("unknown"))
    assert server.requests == 2


def test_known_keys_outlive_an_outage(server: KeyServer) -> None:
    clock = [0.0]
    keys = KeySet(server.url, now=lambda: clock[0])
    assert asyncio.run(keys.find("r")) is not None
    for status, body in ((500, b""), (302, b""), (200, b"no JSON"), (200, b"[]"), (200, b"[" * 2_000_000)):
        server.answer = status, body
        clock[0] += LIFETIME_S + 1
        before = server.requests
        assert asyncio.run(keys.find("r")) is not None
        assert server.requests == before + 1  # a redirect is not followed
        assert asyncio.run(keys.find("other")) is None
        assert server.requests == before + 1


def test_secret_that_can_be_downloaded_signs_nothing(server: KeyServer, tmp_path: Path) -> None:
    token = signed(SECRET, "HS256", "s")
    with pytest.raises(Unauthorized):
        asyncio.run(JwtVerifier(settings_for(server.url)).find_caller(token))
    path = tmp_path / "secret.json"
    path.write_text(json.dumps({"keys": [SECRET_JWK]}))
    assert asyncio.run(JwtVerifier(settings_for(str(path))).find_caller(token)) == ANN

"""Destinations are named in a file, whose errors name field and rule, and what would fail is known before."""

from __future__ import annotations

from pathlib import Path

import pytest

from review_tools.values import a_run
from symposia.models.errors import InvalidInput
from symposia.reviews.delivery.deliveries_file import DeliveriesFile
from symposia.reviews.delivery.destinations import Destinations
from symposia.reviews.delivery.payload import ReportPayload

VARIABLES = {"BOARD_SECRET": "a-secret"}


def deliveries(**entries: dict[str, object]) -> Destinations:
    return Destinations(DeliveriesFile.model_validate(entries), getenv=VARIABLES.get)


def loaded(tmp_path: Path, text: str) -> Destinations:
    file = tmp_path / "deliveries.toml"
    file.write_text(text)
    return Destinations.load(file, getenv=VARIABLES.get)


def test_deliveries_file_names_deliveries(tmp_path, monkeypatch):
    text = '[shelf]\nkind = "folder"\nfolder = "/srv/reviews"\n'
    assert loaded(tmp_path, text).names() == ["shelf"]
    monkeypatch.chdir(tmp_path)
    assert Destinations.load(None, getenv=VARIABLES.get).names() == ["shelf"]
    (tmp_path / "deliveries.toml").unlink()
    assert Destinations.load(None, getenv=VARIABLES.get).names() == []


@pytest.mark.parametrize(
    ("text", "rule"),
    [
        ("x", r"deliveries_file: must be valid TOML"),
        ("\xff", r"deliveries_file"),
        ("['a b']\nkind = 'folder'\nfolder = '/x'", r"a b"),
        ("[a]\nkind = 'webhook'\nurl = 'ftp://x'\nsecret_env = 'X'", r"url: must be a URL"),
        (
            "[a]\nkind = 'webhook'\nurl = 'https://u:p@x'\nsecret_env = 'X'",
            r"url: must not contain credentials",
        ),
        ("[a]\nkind = 'webhook'\nurl = 'https://x'\nsecret = 'X'", r"(secret|secret_env): "),
        ("[a]\nkind = 'folder'\nfolder = 'reports'", r"\.toml\.a\.folder: must be an absolute path"),
        ("[a]\nkind = 'mail'", r"\.toml\.a\.kind: must be one of 'folder', .* \(got 'mail'\)"),
        ("[a]\nfolder = '/srv'", r"\.toml\.a\.kind: is required"),
        (
            "[a]\nkind = 'email'\nhost = 'x'\nsender = 'x'\nto = ['a@b.c']",
            r"sender: must be an email address",
        ),
        ("[a]\nkind = 'email'\nhost = 'x'\nsender = 'a@b.c'\nto = []", r"to: "),
        (
            "[a]\nkind = 'email'\nhost = 'x'\nsender = 'a@b.c'\nto = ['a@b.c']\nusername = 'x'",
            r"must have both username and password_env",
        ),
        (
            "[a]\nkind = 'email'\nhost = 'x'\nsender = 'a@b.c'\nto = ['a@b.c\\r\\nX: y']",
            r"to\[0\]: must be an",
        ),
        ("[a]\nkind = 'github'\nrepository = 'shop'\ntoken_env = 'X'", r"repository: "),
        ("[a]\nkind = 'github'\nrepository = 'a/b'\ntoken_env = 'ghp_x-y'", r"token_env: must be the name"),
        ("[a]\nkind = 'github'\nrepository = 'a/b'\ntoken_env = 'X'\nfail_on = 'bad'", r"fail_on"),
        ("[a]\nkind = 'gitlab'\nproject = '../x y'\ntoken_env = 'X'", r"project: "),
        ("[a]\nkind = 'slack'\nurl_env = 'https://hooks.slack.com/x'", r"url_env: must be the name"),
        ("[a]\nkind = 'email'\nhost = 'x'\nsecurity = 'none'\nsender = 'a@b.c'\nto = ['a@b.c']", r"security"),
    ],
)
def test_invalid_file_names_field_and_rule(tmp_path, text, rule):
    with pytest.raises(InvalidInput, match=rule) as error:
        loaded(tmp_path, text)
    assert "\n" not in str(error.value)


def test_missing_or_too_large_file_is_refused(tmp_path):
    with pytest.raises(InvalidInput, match="deliveries_file: cannot be read"):
        Destinations.load(tmp_path / "none.toml", getenv=VARIABLES.get)
    with pytest.raises(InvalidInput, match="must be at most 1048576 bytes"):
        loaded(tmp_path, "#" * (1 << 20) + "#")


def test_unknown_name_lists_the_known_ones(tmp_path):
    book = deliveries(shelf={"kind": "folder", "folder": str(tmp_path)})
    book.check(["shelf"])
    with pytest.raises(
        InvalidInput, match=r"deliver: must be a delivery of the deliveries file: shelf \(got 'shelv'\)"
    ):
        book.check(["shelf", "shelv"])
    with pytest.raises(InvalidInput, match="which defines none"):
        deliveries().deliver("x", ReportPayload(a_run()))


def test_check_reports_what_would_fail(tmp_path):
    (tmp_path / "file").write_text("")
    entry = {"kind": "webhook", "url": "https://x.example", "secret_env": "NOWHERE"}
    book = deliveries(
        shelf={"kind": "folder", "folder": str(tmp_path / "new" / "deep")},
        bad={"kind": "folder", "folder": str(tmp_path / "file" / "x")},
        board=entry,
        good={**entry, "secret_env": "BOARD_SECRET"},
        pulls={"kind": "github", "repository": "a/b", "token_env": "NO_TOKEN"},
        merges={"kind": "gitlab", "project": "a/b", "token_env": "BOARD_SECRET"},
        chat={"kind": "slack", "url_env": "NO_URL"},
    )
    assert list(book.problems()) == [
        f"[bad] folder: {tmp_path / 'file'} is not writable",
        "[board]: environment variable NOWHERE is not set",
        "[pulls]: environment variable NO_TOKEN is not set",
        "[chat]: environment variable NO_URL is not set",
    ]

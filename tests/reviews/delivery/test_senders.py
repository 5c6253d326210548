"""Reports arrive: in a folder, at a webhook, in a chat, by e-mail; whole, and never with a secret in an error."""

from __future__ import annotations

import json
import os
import re
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from review_tools.runs import evil_runs
from review_tools.values import a_finding, a_result, a_run
from scaling import scaled_examples
from servers.mail.mail_server import MailServer
from servers.remote_system import SECRET, RemoteSystem
from servers.tls import HOST, certificate
from symposia.agents.remote.webhook import refusal
from symposia.models.errors import DeliveryFailed
from symposia.models.severity import Severity
from symposia.reviews.delivery import senders
from symposia.reviews.delivery.chat import MAX_BLOCK_TEXT, chat_text, slack_message
from symposia.reviews.delivery.deliveries_file import DeliveriesFile
from symposia.reviews.delivery.destinations import Destinations
from symposia.reviews.delivery.payload import ReportPayload, summary_json, summary_text
from symposia.reviews.reports.formats import ReportFile
from symposia.reviews.values.findings import FindingStatus
from symposia.reviews.values.runs import PullRequest, headline

PASSWORD = "hunter2-and-more"
VARIABLES = {"BOARD_SECRET": SECRET, "SMTP_PASSWORD": PASSWORD}
FINDING = a_finding(severity=Severity.HIGH, status=FindingStatus.NEW)
RUN = a_run(a_result(FINDING), findings=(FINDING,), summary="One import too many.")
REPORTS = (
    ReportFile("review.md", "text/markdown", "# Review\n"),
    ReportFile("review.sarif", "application/sarif+json", "{}"),
)
PARCEL = ReportPayload(RUN, REPORTS)


def deliveries(**entries: dict[str, object]) -> Destinations:
    return Destinations(DeliveriesFile.model_validate(entries), getenv=VARIABLES.get)


def tree(folder: Path) -> set[str]:
    return {it.relative_to(folder).as_posix() for it in folder.rglob("*") if it.is_file()}


# -- a folder --------------------------------------------------------------------------------


def test_a_folder_gets_each_run_whole_and_once(tmp_path):
    book = deliveries(shelf={"kind": "folder", "folder": str(tmp_path / "reviews")})
    for _ in range(2):
        book.deliver("shelf", PARCEL)
    (run_folder,) = (tmp_path / "reviews" / "shop-code").iterdir()
    assert run_folder.name.endswith(RUN.id[:8])
    assert tree(run_folder) == {"review.md", "review.sarif", "run.json", "summary.txt"}
    assert (run_folder / "review.md").read_bytes() == b"# Review\n"
    assert (run_folder / "run.json").read_bytes() == summary_json(RUN)
    assert stat.S_IMODE(run_folder.stat().st_mode) == 0o777 & ~_umask()


def _umask() -> int:
    mask = os.umask(0o022)
    os.umask(mask)
    return mask


def test_a_folder_keeps_the_newest_runs(tmp_path):
    book = deliveries(shelf={"kind": "folder", "folder": str(tmp_path), "keep": 2})
    ids = []
    for day in (1, 2, 3):
        run = a_run(started_at=f"2026-01-0{day}T00:00:00.000Z", ended_at=None)
        book.deliver("shelf", ReportPayload(run))
        ids.append(run.id[:8])
    kept = sorted(it.name for it in (tmp_path / "shop-code").iterdir())
    assert kept == [f"20260102T000000Z-{ids[1]}", f"20260103T000000Z-{ids[2]}"]


@settings(max_examples=scaled_examples(30))
@given(root=st.text(min_size=1).filter(str.strip), report=st.text(max_size=30))
def test_delivery_never_leaves_the_folder(tmp_path_factory, root, report):
    above = tmp_path_factory.mktemp("above")
    book = deliveries(shelf={"kind": "folder", "folder": str(above / "shelf")})
    book.deliver("shelf", ReportPayload(a_run(root_name=root), [ReportFile(report, "text/plain", "x")]))
    assert [it.name for it in above.iterdir()] == ["shelf"]
    assert {len(Path(it).parts) for it in tree(above / "shelf")} == {3}


def test_old_files_of_a_dead_worker_are_deleted(tmp_path):
    begun = tmp_path / "shop-code" / ".begun-1"
    begun.mkdir(parents=True)
    book = deliveries(shelf={"kind": "folder", "folder": str(tmp_path)})
    book.deliver("shelf", PARCEL)
    assert begun.exists()
    os.utime(begun, (0, 0))
    book.deliver("shelf", PARCEL)
    assert not begun.exists()


def test_unwritable_folder_is_retryable(tmp_path):
    (tmp_path / "file").write_text("")
    book = deliveries(shelf={"kind": "folder", "folder": str(tmp_path / "file")})
    with pytest.raises(DeliveryFailed, match=r"writing to .*file failed:") as error:
        book.deliver("shelf", PARCEL)
    assert error.value.retryable


# -- a webhook --------------------------------------------------------------------------------


@pytest.fixture
def system() -> Iterator[RemoteSystem]:
    it = RemoteSystem()
    yield it
    it.close()


def webhook(system: RemoteSystem, **more: object) -> Destinations:
    entry = {"kind": "webhook", "url": system.url, "secret_env": "BOARD_SECRET", "networks": ["127.0.0.0/8"]}
    return deliveries(board={**entry, **more})


def test_webhook_gets_the_signed_run_under_a_stable_id(system):
    book = webhook(system)
    for _ in range(2):
        book.deliver("board", PARCEL)
    for headers, body in system.deliveries:
        assert body == summary_json(RUN)
        assert refusal(SECRET, headers, body, now_s=int(headers["webhook-timestamp"])) is None
    assert len({headers["webhook-id"] for headers, _ in system.deliveries}) == 1
    assert PARCEL.message_id("board") != PARCEL.message_id("other")


@pytest.mark.parametrize(
    ("answer", "retryable", "after_s"),
    [
        ((503, {"Retry-After": "7"}), True, 7.0),
        ((500, {}), True, None),
        ((404, {}), False, None),
        ((302, {"Location": "http://127.0.0.1/"}), False, None),
    ],
)
def test_refusal_of_a_webhook_is_reported(system, answer, retryable, after_s):
    system.answers = [answer]
    with pytest.raises(DeliveryFailed, match=f"127.0.0.1 answered HTTP {answer[0]}") as error:
        webhook(system).deliver("board", PARCEL)
    assert (error.value.retryable, error.value.retry_after_s) == (retryable, after_s)


def test_private_address_needs_an_allowed_network(system):
    with pytest.raises(DeliveryFailed, match="neither public nor") as error:
        webhook(system, networks=[]).deliver("board", PARCEL)
    assert not error.value.retryable
    assert system.deliveries == []


def test_webhook_without_its_secret_sends_nothing(system):
    with pytest.raises(DeliveryFailed, match="environment variable NOWHERE is not set") as error:
        webhook(system, secret_env="NOWHERE").deliver("board", PARCEL)
    assert not error.value.retryable
    assert system.deliveries == []


# -- a chat --------------------------------------------------------------------------------


def send(url: str, report: ReportPayload | None = None, **more: object) -> None:
    entry = {"kind": "slack", "url_env": "CHAT_URL", "host": "127.0.0.1", "networks": ["127.0.0.0/8"]}
    file = DeliveriesFile.model_validate({"chat": {**entry, **more}})
    report = report or ReportPayload(a_run(a_result(), findings=(a_finding(),)))
    Destinations(file, getenv={"CHAT_URL": url}.get).deliver("chat", report)


def test_chat_gets_the_summary_as_code(system):
    send(system.url, app="mattermost")
    (letter,) = system.letters
    assert letter == {
        "text": "```\nReview of shop by code: 1 medium\n\n- app.py:3: medium F401: 'os' imported but unused\n```"
    }


def test_slack_gets_blocks_with_links(system):
    repository = {"repository_url": "https://github.com/a/b", "revision": "abc123"}
    run = a_run(
        a_result(), findings=(a_finding(status=FindingStatus.NEW),), summary="One file.", **repository
    )
    send(
        system.url,
        report=ReportPayload(run, pull_request=PullRequest(number=7)),
        flower_url="https://flower.example/",
    )
    (letter,) = system.letters
    assert letter["text"] == "Review of shop by code: 1 medium (1 new)"
    header, counts, links, findings, note = letter["blocks"]
    assert header["text"]["text"] == letter["text"]
    assert [it["text"] for it in counts["fields"]] == ["medium: 1"]
    page = f"https://flower.example/reviews/{run.id}"
    pull = "<https://github.com/a/b/pull/7|Pull request 7>"
    assert links["text"]["text"] == f"<{page}|Review in Flower> | <{page}/report|Report> | {pull}"
    ((item,),) = [it["elements"] for it in findings["elements"]]
    assert (
        "".join(it["text"] for it in item["elements"]) == "medium app.py:3 F401: os imported but unused (new)"
    )
    assert item["elements"][2]["url"] == "https://github.com/a/b/blob/abc123/app.py#L3"
    assert [it["text"] for it in item["elements"] if it.get("style") == {"code": True}] == ["F401", "os"]
    assert note["elements"][0]["text"] == "One file."


PLAIN_TEXT = {
    "properties": {
        "type": {"const": "plain_text"},
        "text": {"type": "string", "minLength": 1, "maxLength": 3_000},
        "emoji": {"const": False},
    },
    "required": ["type", "text"],
    "additionalProperties": False,
}
#: Slack's limits, and texts of a run in plain or rich text only.
BLOCKS = {
    "maxItems": 50,
    "items": {
        "required": ["type"],
        "if": {"properties": {"type": {"const": "context"}}},
        "then": {"properties": {"elements": {"items": PLAIN_TEXT, "minItems": 1, "maxItems": 10}}},
        "properties": {
            "fields": {"items": PLAIN_TEXT, "minItems": 1, "maxItems": 10},
            "text": {
                **PLAIN_TEXT,
                "properties": {**PLAIN_TEXT["properties"], "text": {"minLength": 1, "maxLength": 150}},
            },
        },
    },
}


@given(evil_runs(), st.integers(1, 40))
def test_text_in_a_chat_stays_text(run, copies):
    address = {"repository_url": "https://github.com/a/b", "revision": "abc"}
    payload = ReportPayload(run.model_copy(update={"findings": run.findings * copies, **address}))
    assert re.fullmatch(r"```\n[^`]+\n```", chat_text(payload))
    message = slack_message(payload)
    Draft202012Validator(BLOCKS).validate(message["blocks"])
    assert not re.search("[<>]|&(?!amp;|lt;|gt;)", message["text"])
    assert "mrkdwn" not in json.dumps(message)
    for block in message["blocks"]:
        if block["type"] == "rich_text":
            items = block["elements"][0]["elements"]
            parts = [part for item in items for part in item["elements"]]
            assert sum(len(part["text"]) for part in parts) <= MAX_BLOCK_TEXT
            assert all(part["type"] in ("text", "link") and part["text"] for part in parts)
            links = [part["url"] for part in parts if part["type"] == "link"]
            assert all(re.fullmatch(r"https://github\.com/a/b/blob/abc/[!-~]+", link) for link in links)
            assert all(not re.search('[<>|"]', link) and len(link) <= MAX_BLOCK_TEXT for link in links)


def test_long_summary_is_cut():
    run = a_run(findings=tuple(a_finding(line=at, message="long " * 500) for at in range(1, 143)))
    text = chat_text(ReportPayload(run))
    assert len(text) < 4_000
    assert text.endswith("\n…\n```")
    *_, note = slack_message(ReportPayload(run))["blocks"]
    assert re.fullmatch(r"And 13\d more findings\.", note["elements"][0]["text"])


@pytest.mark.parametrize(
    ("answer", "retryable", "after_s"),
    [((429, {"Retry-After": "9"}), True, 9), ((404, {}), False, None), ((500, {}), True, None)],
)
def test_refusal_of_a_chat_is_reported_without_the_url(system, answer, retryable, after_s):
    system.answers = [answer]
    with pytest.raises(DeliveryFailed, match=rf"^127\.0\.0\.1 answered HTTP {answer[0]}$") as error:
        send(system.url)
    assert (error.value.retryable, error.value.retry_after_s) == (retryable, after_s)


@pytest.mark.parametrize(
    "url",
    ["https://evil.example/services/x", "file:///etc/passwd", "http://[::1", "x", "http://127.0.0.1/a b"],
)
def test_url_must_have_the_host_of_the_file(url):
    with pytest.raises(DeliveryFailed, match=r"CHAT_URL must hold a URL of 127\.0\.0\.1$") as error:
        send(url)
    assert not error.value.retryable
    assert json.dumps(url) not in str(error.value)


# -- an e-mail --------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    return certificate(tmp_path_factory.mktemp("tls"), "mail")


@pytest.fixture(params=["starttls", "tls"])
def server(request: pytest.FixtureRequest, made: tuple[Path, Path]) -> Iterator[MailServer]:
    server = MailServer(*made, begins_encrypted=request.param == "tls")
    yield server
    server.close()


def email(server: MailServer, made: tuple[Path, Path], **more: object) -> Destinations:
    entry: dict[str, object] = {
        "kind": "email",
        "host": HOST,
        "port": server.port,
        "security": "tls" if server.begins_encrypted else "starttls",
        "ca_file": str(made[0]),
        "sender": "reviews@example.com",
        "to": ["ann@example.com", "bob@example.com"],
        "username": "reviews",
        "password_env": "SMTP_PASSWORD",
    }
    return deliveries(team={**entry, **more})


def test_an_email_arrives_encrypted_with_the_reports(server, made):
    email(server, made).deliver("team", PARCEL)
    (sent,) = server.sent
    assert (sent.was_encrypted, sent.login) == (True, ("reviews", PASSWORD))
    assert (sent.sender, sent.to) == ("reviews@example.com", ("ann@example.com", "bob@example.com"))
    assert sent.mail["Subject"] == headline(RUN)
    assert sent.mail["Message-ID"] == f"<{PARCEL.message_id('team')}@example.com>"
    assert sent.mail.get_body().get_content().replace("\r\n", "\n") == summary_text(RUN)
    attached = {it.get_filename(): it for it in sent.mail.iter_attachments()}
    assert {name: it.get_content_type() for name, it in attached.items()} == {
        "review.md": "text/markdown",
        "review.sarif": "application/sarif+json",
    }
    assert attached["review.sarif"].get_content() == b"{}"


def test_too_large_attachment_is_omitted_with_a_note(server, made, monkeypatch):
    monkeypatch.setattr(senders, "MAX_ATTACHED_BYTES", 5)
    email(server, made).deliver("team", PARCEL)
    (sent,) = server.sent
    assert [it.get_filename() for it in sent.mail.iter_attachments()] == ["review.sarif"]
    assert "Too large to attach: review.md" in sent.mail.get_body().get_content()


def test_login_needs_a_user_name(server, made):
    email(server, made, username=None, password_env=None).deliver("team", PARCEL)
    assert server.sent[0].login is None


@pytest.mark.parametrize(
    ("verb", "answer", "retryable"),
    [
        ("AUTH", f"535 wrong password {PASSWORD}", False),
        ("MAIL", "451 later", True),
        ("DATA", "554 no", False),
        ("RCPT", "550 nobody", False),
        ("RCPT", "450 later", True),
    ],
)
def test_refusal_is_reported_without_the_password(server, made, verb, answer, retryable):
    server.refusals[verb] = [answer]
    with pytest.raises(
        DeliveryFailed, match=r"127\.0\.0\.1 (answered SMTP|refused 2 of the recipients)"
    ) as error:
        email(server, made).deliver("team", PARCEL)
    assert error.value.retryable is retryable
    assert PASSWORD not in str(error.value)
    assert server.sent == []


def test_refused_recipients_do_not_affect_the_others(server, made):
    server.unknown["bob@example.com"] = 450
    with pytest.raises(DeliveryFailed, match="refused 1 of the recipients") as error:
        email(server, made).deliver("team", PARCEL)
    assert not error.value.retryable
    assert server.sent[0].to == ("ann@example.com",)


def test_untrusted_server_receives_nothing(server, made, tmp_path):
    other, _ = certificate(tmp_path, "other")
    with pytest.raises(DeliveryFailed, match="is not trusted") as error:
        email(server, made, ca_file=str(other)).deliver("team", PARCEL)
    assert not error.value.retryable
    assert "AUTH" not in server.heard
    assert "MAIL" not in server.heard


def test_nothing_is_sent_to_a_server_without_tls(made):
    server = MailServer(*made, offers_tls=False)
    try:
        with pytest.raises(DeliveryFailed, match="does not support a required SMTP extension") as error:
            email(server, made).deliver("team", PARCEL)
    finally:
        server.close()
    assert not error.value.retryable
    assert server.heard == ["EHLO"]


def test_unreachable_mail_server_is_retryable(made):
    server = MailServer(*made)
    server.close()
    with pytest.raises(DeliveryFailed, match=r"127\.0\.0\.1 does not answer") as error:
        email(server, made).deliver("team", PARCEL)
    assert error.value.retryable


def test_nothing_in_a_run_adds_headers_or_people(server, made):
    run = a_run(
        root_name="x\r\nBcc: eve@example.com\r\n\r\nbody", summary="\r\n.\r\nRCPT TO:<eve@example.com>"
    )
    email(server, made).deliver(
        "team", ReportPayload(run, [ReportFile('a"\r\nX: y', "text/plain", "\r\n.\r\nQUIT\r\n")])
    )
    (sent,) = server.sent
    assert sent.to == ("ann@example.com", "bob@example.com")
    assert sent.mail["Bcc"] is None
    assert server.heard.count("RCPT") == 2

"""Reports arrive: in a folder, at a webhook, by e-mail; whole, known again, and never with a secret in an error."""

from __future__ import annotations

import json
import os
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from review_tools.values import a_finding, a_result, a_run
from scaling import scaled_examples
from servers.mail_server import MailServer
from servers.remote_system import SECRET, RemoteSystem
from servers.tls import HOST, certificate
from symposia.agents.remote.webhook import refusal
from symposia.models.errors import DeliveryFailed, InvalidInput
from symposia.models.severity import Severity
from symposia.reviews.delivery import payload as parcel
from symposia.reviews.delivery import senders
from symposia.reviews.delivery.deliveries_file import DeliveriesFile
from symposia.reviews.delivery.destinations import Destinations
from symposia.reviews.delivery.payload import ReportPayload, has_changes, summary_json, summary_text
from symposia.reviews.reports.formats import ReportFile
from symposia.reviews.values.findings import FindingStatus
from symposia.reviews.values.runs import ItemState, RunState, headline

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


# -- what is told ---------------------------------------------------------------------------------


def test_message_lists_the_gravest_findings_first():
    findings = (
        a_finding(rule="Z1", severity=Severity.LOW),
        FINDING,
        a_finding(rule="G1", status=FindingStatus.GONE),
        a_finding(rule="S1", status=FindingStatus.SUPPRESSED),
    )
    run = a_run(a_result(), a_result(state=ItemState.FAILED), findings=findings, summary="So so.")
    assert summary_text(run) == (
        "Review of shop by code: 1 high, 1 low (1 new, 1 gone, 1 suppressed)\n\nSo so.\n\n"
        "- app.py:3: high F401: `os` imported but unused (new)\n"
        "- app.py:3: low Z1: `os` imported but unused\n\n"
        "1 of 2 items could not be reviewed.\n"
    )


def test_message_lists_some_of_many_findings():
    run = a_run(findings=tuple(a_finding(line=at) for at in range(1, 31)))
    assert summary_text(run).count("\n- ") == parcel.MAX_LISTED_FINDINGS + 1
    assert summary_text(run).endswith("- and 10 more\n")


def test_headline_without_findings():
    assert headline(a_run()) == "Review of shop by code: no findings"
    assert headline(a_run(state=RunState.PARTIAL)) == "Review of shop by code, partial: no findings"


def test_machine_readable_summary_is_the_same(monkeypatch):
    told = json.loads(summary_json(RUN))
    assert told["type"] == "review.ended"
    assert (told["run_id"], told["root"], told["panel"], told["state"]) == (
        RUN.id,
        "shop",
        "code",
        "completed",
    )
    assert (told["open"], told["items"], told["findings_left_out"]) == ({"high": 1}, {"done": 1}, 0)
    assert told["findings"][0]["fingerprint"] == FINDING.fingerprint


def test_email_is_bounded_and_names_omissions():
    long = [a_finding(message="ä" * 4_000, line=at) for at in range(1, 100)]
    findings = (*long, a_finding(severity=Severity.CRITICAL, rule="first"))
    body = summary_json(a_run(findings=findings))
    told = json.loads(body)
    assert len(body) <= parcel.MAX_JSON_BYTES
    assert told["findings"][0]["rule"] == "first"
    assert 0 < told["findings_left_out"] == 100 - len(told["findings"])


@pytest.mark.parametrize(
    ("changes", "news"),
    [
        ({}, False),
        ({"findings": (a_finding(status=FindingStatus.STILL),)}, False),
        ({"findings": (a_finding(status=FindingStatus.SUPPRESSED),)}, False),
        ({"findings": (a_finding(status=FindingStatus.NEW),)}, True),
        ({"findings": (a_finding(status=FindingStatus.GONE),)}, True),
        ({"state": RunState.PARTIAL}, True),
        ({"state": RunState.FAILED}, True),
    ],
)
def test_changes_and_failed_runs_are_news(changes, news):
    assert has_changes(a_run(**changes)) is news


# -- a folder -------------------------------------------------------------------------------------


def test_a_folder_gets_each_run_whole_and_once(tmp_path):
    book = deliveries(shelf={"kind": "folder", "folder": str(tmp_path / "reviews")})
    for _ in range(2):
        book.deliver("shelf", PARCEL)
    (place,) = (tmp_path / "reviews" / "shop-code").iterdir()
    assert place.name.endswith(RUN.id[:8])
    assert tree(place) == {"review.md", "review.sarif", "run.json", "summary.txt"}
    assert (place / "review.md").read_bytes() == b"# Review\n"
    assert (place / "run.json").read_bytes() == summary_json(RUN)
    assert stat.S_IMODE(place.stat().st_mode) == 0o777 & ~_umask()


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


# -- a webhook ------------------------------------------------------------------------------------


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


# -- an e-mail ------------------------------------------------------------------------------------


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


# -- the file -------------------------------------------------------------------------------------


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
        deliveries().deliver("x", PARCEL)


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

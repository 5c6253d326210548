"""Reviews in Flower: list, findings by severity, reports in every format."""

from __future__ import annotations

import io
import json
import zipfile
from pathlib import Path
from urllib.parse import urlencode

import pytest

from live import until
from scaling import patient
from servers.dashboard import CREDENTIALS
from servers.flower import action_headers, basic
from symposia.dashboard.handlers.downloads import zip_pieces
from symposia.dashboard.views.review_rows import finding_page, sort_findings
from symposia.models.errors import InvalidInput
from symposia.models.severity import Severity
from symposia.reviews.reports.formats import ReportFile
from symposia.reviews.values.findings import Finding, FindingStatus

WASTEFUL = "import os\n\nprint('hello')\n"
RISKY = "import subprocess\nimport sys\n\nsubprocess.call(sys.argv[1], shell=True)\n"
HOSTILE = "<img src=x onerror=alert(1)>.py"
FORMATS = {
    "markdown": "text/markdown",
    "html": "text/html",
    "sarif": "application/sarif+json",
    "junit": "application/xml",
    "rdjson": "application/json",
    "jsonl": "application/jsonl",
}


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A folder with defects, one of them in a file with a hostile name."""
    folder = tmp_path / "project"
    folder.mkdir()
    (folder / "risky.py").write_text(RISKY)
    (folder / HOSTILE).write_text(WASTEFUL)
    return folder


@pytest.mark.long
@pytest.mark.leaves_keys
@pytest.mark.timeout(120)
def test_review_is_shown_with_findings_and_reports(flower, client, project, worker):
    job = client.review(project)
    (row,) = until(lambda: flower.json("/api/reviews")["reviews"], what="the review is listed")
    assert (row["id"], row["root"], row["panel"]) == (job.id, "project", "code")
    job.result(timeout=patient(60))
    review = flower.json(f"/api/reviews/{job.id}")
    assert (review["state"], review["settled"], review["total"]) == ("completed", 2, 2)
    assert review["severities"].get("high")
    assert review["verdict"].startswith(f"{sum(review['severities'].values())} to fix")

    findings = flower.json(f"/api/reviews/{job.id}/findings")
    assert findings["total"] == sum(review["severities"].values())
    assert findings["entries"][0]["severity"] == "high"
    high = flower.json(f"/api/reviews/{job.id}/findings?severity=high")
    assert {(it["path"], it["rule"]) for it in high["entries"]} == {("risky.py", "B602")}
    assert HOSTILE in {it["path"] for it in findings["entries"]}
    items = flower.json(f"/api/reviews/{job.id}/items?state=done")["entries"]
    assert {it["path"] for it in items} == {"risky.py", HOSTILE}
    assert flower.get(f"/api/reviews/{job.id}/findings?severity=dire").status == 400

    page = flower.get(f"/reviews/{job.id}")
    assert page.status == 200
    assert "&lt;img src=x" in page.text
    assert "<img src=x" not in page.text
    changes = flower.json(f"/api/reviews/{job.id}/changes?status=gone")
    assert (changes["lists"], "No finding matches" in changes["html"]["pager"]) == ({"groups": []}, True)
    again = flower.json(
        f"/api/reviews/{job.id}/changes?{urlencode({'status': 'gone', 'after': changes['after']})}"
    )
    assert "html" not in again
    report = flower.get(f"/reviews/{job.id}/report")
    policy = report.headers["content-security-policy"]
    assert all(part in policy for part in ("default-src 'none'", "sandbox", "frame-ancestors 'none'"))
    assert (report.headers["x-frame-options"], "unsafe" in policy) == ("DENY", False)
    assert "&lt;img src=x" in report.text
    assert "<img" not in report.text
    for name, media_type in FORMATS.items():
        file = flower.get(f"/reviews/{job.id}/report/{name}")
        assert (file.status, file.headers["content-type"].partition(";")[0]) == (200, media_type)
        assert file.headers["content-disposition"].startswith("attachment; ")
        assert file.headers["x-content-type-options"] == "nosniff"
    assert json.loads(flower.get(f"/reviews/{job.id}/report/sarif").text)["runs"][0]["results"]
    assert flower.get(f"/reviews/{job.id}/report/alignment").status == 404  # these sessions have none
    assert flower.get(f"/reviews/{job.id}/report/pdf").status == 400

    unknown = "00000000-0000-4000-8000-000000000000"
    api = f"/api/reviews/{unknown}"
    for path in (f"/reviews/{unknown}", api, f"{api}/stream", f"{api}/changes", f"/reviews/{unknown}/report"):
        assert flower.get(path).status == 404
    assert flower.post(f"/api/reviews/{job.id}/retry").status == 403
    second = client.review(project, everything=True)
    first_page = flower.json("/api/reviews?limit=1")
    next_page = flower.json(f"/api/reviews?{urlencode({'limit': 1, 'after': first_page['next']})}")
    assert [it["id"] for it in first_page["reviews"] + next_page["reviews"]] == [second.id, job.id]
    assert next_page["next"] is None
    second.result(timeout=patient(60))


@pytest.mark.leaves_keys
@pytest.mark.long
def test_review_changes_require_authentication(guarded, client, project):
    job = client.review(project)  # no worker runs
    path, user = f"/api/reviews/{job.id}", basic(CREDENTIALS)
    assert guarded.get("/api/reviews").status == 401
    assert guarded.json(path, **user)["state"] == "running"
    headers = action_headers(guarded, CREDENTIALS, "/reviews")
    for bad in (user, {**headers, "Sec_Fetch_Site": "cross-site"}, {**headers, "X_XSRFToken": "x"}):
        assert guarded.post(f"{path}/cancel", **bad).status == 403
    assert not job.progress().has_ended
    assert guarded.post(f"{path}/cancel", **headers).json() == {"cancelled": True}
    assert job.progress().state in ("stopping", "cancelled")


def test_findings_are_sorted_and_paged():
    def finding(severity: Severity, path: str, status: FindingStatus | None = None) -> Finding:
        return Finding(
            path=path, start_line=1, end_line=1, rule="r", severity=severity, message="m", status=status
        )

    found = sort_findings(
        [
            finding(Severity.LOW, "a"),
            finding(Severity.HIGH, "b", FindingStatus.NEW),
            finding(Severity.HIGH, "a", FindingStatus.GONE),
        ]
    )
    first = finding_page(found, severity="", status="", limit=1, after="")
    second = finding_page(found, severity="", status="", limit=1, after=first["next"])
    assert [it["path"] for page in (first, second) for it in page["entries"]] == ["b", "a"]
    assert (first["total"], second["next"]) == (2, None)
    assert finding_page(found, severity="", status="gone", limit=9, after="")["entries"][0]["path"] == "a"
    with pytest.raises(InvalidInput):
        finding_page(found, severity="", status="", limit=1, after="none")


def test_format_with_many_files_is_one_zip_file():
    files = [
        ReportFile("1.dialogue.md", "text/markdown", "# Ä"),
        ReportFile("2.dialogue.md", "text/markdown", "b"),
    ]
    with zipfile.ZipFile(io.BytesIO(b"".join(zip_pieces(files)))) as archive:
        assert {name: archive.read(name).decode() for name in archive.namelist()} == {
            "1.dialogue.md": "# Ä",
            "2.dialogue.md": "b",
        }

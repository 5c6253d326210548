"""Files of messages on the session page: listed, and sent as downloads that no browser shows."""

from __future__ import annotations

import pytest

from live import result_of
from servers.dashboard import CREDENTIALS
from servers.flower import basic
from symposia.models.attachments import Attachment
from symposia.models.sessions.stop_conditions import MaxRounds

PAGE = Attachment.of('a "page" \u00e4.html', "<script>alert(1)</script>" * 10_000)


def with_file(dashboard):
    job = dashboard.submit("pair", {"ann": "say", "bob": "say"}, stop=MaxRounds(1), attachments=[PAGE])
    result_of(job, timeout_s=60)
    return job


def test_files_are_listed_and_sent_as_downloads(dashboard):
    job = with_file(dashboard)
    listed = dashboard.flower.get(f"/api/collabs/{job.id}/messages", **basic(CREDENTIALS)).json()
    (file,) = listed["messages"][0]["attachments"]
    assert (file["name"], file["size"]) == (PAGE.name, PAGE.size)
    assert not any(it["attachments"] for it in listed["messages"][1:])
    path = f"/api/collabs/{job.id}/attachments/{file['sha256']}"
    live = dashboard.flower.get(path, **basic(CREDENTIALS))
    dashboard.expire(job)
    for answer in (live, dashboard.flower.get(path, **basic(CREDENTIALS))):
        assert (answer.status, answer.text) == (200, PAGE.data.decode())
        assert answer.headers["content-type"] == "application/octet-stream"
        assert answer.headers["x-content-type-options"] == "nosniff"
        disposition = "attachment; filename=\"file\"; filename*=UTF-8''a%20%22page%22%20%C3%A4.html"
        assert answer.headers["content-disposition"] == disposition


def test_unknown_files_are_not_found(dashboard):
    job = with_file(dashboard)
    path = f"/api/collabs/{job.id}/attachments/"
    assert dashboard.flower.get(path + "0" * 64, **basic(CREDENTIALS)).status == 404
    assert dashboard.flower.get(path + "../export/json", **basic(CREDENTIALS)).status == 404


@pytest.mark.long
def test_files_without_their_bytes_are_not_found(dashboard):
    """A message of another session has its references only."""
    first = with_file(dashboard).dialog().messages[:1]
    job = dashboard.submit("pair", {"ann": "say", "bob": "say"}, stop=MaxRounds(1), messages=first)
    path = f"/api/collabs/{job.id}/attachments/{PAGE.sha256}"
    answer = dashboard.flower.get(path, **basic(CREDENTIALS))
    assert (answer.status, "its bytes are missing" in answer.text) == (404, True)
    result_of(job, timeout_s=60)


@pytest.mark.long
def test_files_need_a_user(dashboard):
    job = with_file(dashboard)
    path = f"/api/collabs/{job.id}/attachments/{PAGE.sha256}"
    assert dashboard.flower.get(path, **basic("eve:guess")).status == 401

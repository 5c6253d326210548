"""Findings of a scheduled review are delivered to the destinations of the schedule."""

from __future__ import annotations

import json

import pytest

from live import until
from servers.remote_system import SECRET, RemoteSystem
from symposia.agents.remote.webhook import refusal

DEADLINE_S = 60


@pytest.mark.long
@pytest.mark.timeout(150)
@pytest.mark.leaves_keys  # those of sessions that the archive does not have yet
def test_report_is_delivered_again_only_after_changes(installation, monkeypatch):
    system = RemoteSystem()
    installation.stack.callback(system.close)
    monkeypatch.setenv("BOARD_SECRET", SECRET)
    monkeypatch.setenv("SYMPOSIA_ARCHIVE", "true")  # which knows what was found before
    (installation.folder / "deliveries.toml").write_text(
        f'[shelf]\nkind = "folder"\nfolder = "{installation.folder / "shelf"}"\n'
        f'[board]\nkind = "webhook"\nurl = "{system.url}"\nsecret_env = "BOARD_SECRET"\n'
        'networks = ["127.0.0.0/8"]\n'
    )
    installation.write_shop()
    installation.start_worker()
    schedules = installation.client.schedules
    wishes = {"deliver": ["board", "shelf"], "formats": ["markdown", "sarif"], "only_on_change": True}
    schedules.add("nightly", cron="@yearly", review={"panel": "at_once", "root": "shop", **wishes})

    def run_now():
        mine = schedules.run_now("nightly")
        until(
            lambda: any(it.id == mine for it in schedules.history("nightly")),
            timeout_s=DEADLINE_S,
            what="the review has ended",
        )
        return mine

    def delivered(count):
        until(lambda: len(system.deliveries) >= count, timeout_s=DEADLINE_S, what=f"{count} letters")

    first = run_now()
    delivered(1)
    run_now()  # nothing has changed
    (installation.folder / "shop" / "new.txt").write_text("something new\n")
    third = run_now()
    delivered(2)
    assert [it["run_id"] for it in system.letters] == [first, third]
    for headers, body in system.deliveries:
        assert refusal(SECRET, headers, body, now_s=int(headers["webhook-timestamp"])) is None
    folder = installation.folder / "shelf" / "shop-at_once"
    until(lambda: len(list(folder.glob("2*"))) == 2, timeout_s=DEADLINE_S, what="two folders")
    for written in folder.glob("2*"):
        assert {it.name for it in written.iterdir()} == {
            *("review.md", "review.sarif"),
            *("run.json", "summary.txt"),
        }
        assert json.loads((written / "review.sarif").read_text())["version"] == "2.1.0"

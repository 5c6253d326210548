"""What holds for the pages of the inbox, schedules and reviews alike."""

from __future__ import annotations

import re

import pytest

from servers.dashboard import CREDENTIALS
from servers.flower import FlowerServer, basic

PAGES = ("inbox", "schedules", "reviews")


@pytest.mark.long
def test_pages_are_strict_and_complete_below_a_prefix(start_flower):
    flower: FlowerServer = start_flower(
        "--url-prefix=watch/it", environment={"FLOWER_BASIC_AUTH": CREDENTIALS}, prefix="/watch/it"
    )
    user = basic(CREDENTIALS)
    for name in PAGES:
        page = flower.get(f"/{name}", **user)
        assert page.status == 200, flower.log()
        policy = page.headers["content-security-policy"]
        assert "default-src 'none'" in policy
        assert "unsafe" not in policy
        assert not [header for header in page.headers if header.startswith("access-control")]
        assert not re.search(r"<style|\sstyle=|\son[a-z]+=", page.text)
        assert not re.search(r"<script(?![^>]*\ssrc=)", page.text)
        assert f'href="/watch/it/{name}"' in page.text
        assets = re.findall(r'"/watch/it(/collabs/static/[^"]+)"', page.text)
        assert {it.rpartition("/")[2] for it in assets} > {"dashboard.css", "health.js"}
        for path in assets:
            assert flower.get(path, **user).status == 200

        for path in (f"/{name}", f"/api/{name}"):
            assert flower.get(path).status == 401
            assert flower.get(path, **user, Host="evil.example").status == 403
        assert flower.request("OPTIONS", f"/api/{name}", user).status == 405
        assert flower.get(f"/api/{name}?limit=100000", **user).status == 400

import pytest, re
from playwright.sync_api import expect
from symposia.models.sessions.stop_conditions import MaxTurns
pytestmark = [pytest.mark.long, pytest.mark.timeout(300)]

def test_try(gated_sessions, open_tab, services):
    job = gated_sessions.submit("round_robin", {"ann": "gated", "bob": "say"}, stop=MaxTurns(6))
    tab = open_tab(f"/collabs/{job.id}")
    page = tab.page
    page.wait_for_timeout(2500)
    print(tab.errors)
    page.screenshot(path="/tmp/w/shots/s1.png", full_page=True)
    gated_sessions.open_gate()
    page.wait_for_timeout(4000)
    page.screenshot(path="/tmp/w/shots/s2.png", full_page=True)
    page.goto(f"/collabs/{job.id}?turn=2&events=newest"); page.wait_for_timeout(500)
    page.screenshot(path="/tmp/w/shots/s3.png", full_page=True)
    page.goto(f"/collabs/{job.id}?find=turn 3"); page.wait_for_timeout(500)
    print(page.locator("#turns").inner_text(), page.locator("#earlier").inner_text())
    print(tab.errors)
    tab.errors.clear()

"""The layout of the list and of sessions with long and foreign texts, and many participants, at four widths."""

from __future__ import annotations

from typing import Any

import pytest
from playwright.sync_api import expect

from live import result_of, until
from servers.layout import layout_faults
from symposia.models.protocol.collab import Collab, Participant
from symposia.models.sessions.stop_conditions import MaxTurns

pytestmark = [pytest.mark.long, pytest.mark.timeout(300)]

LONG = (
    "How should the reading room lend rare books to the other libraries of the city during the renovation? "
    * 3
)
#: Title -> mode and agents. The text of `hostile_fail` is a long error.
SESSIONS: dict[str, dict[str, Any]] = {
    LONG: {"mode": "broadcast", "agents": {**{f"gated{n}": "gated" for n in range(7)}, "cyd": "say"}},
    "unbroken" * 30: {"mode": "round_robin", "agents": {"ann": "hostile_say", "bob": "hostile_fail"}},
    "展覧会カタログの翻訳:第三章「古い地図と航海の記録」を英語とフランス語に訳し、用語を統一する" * 2: {
        "mode": "round_robin",
        "agents": {"翻訳者": "human", "bob": "say"},
        "tenant": "museum-of-" + "long" * 20,
    },
    "مراجعة عقد الإيجار والملاحق قبل التوقيع النهائي " * 3: {
        "mode": "pair",
        "agents": {"ann": "say", "bob": "navigator"},
    },
    "Sixty-four participants": {
        "mode": "round_robin",
        "agents": {f"participant-with-a-long-identifier-{number:02}": "say" for number in range(64)},
    },
}


@pytest.fixture(scope="module")
def sessions(services):
    """Sessions whose texts are long or foreign; those that wait are cancelled after the tests."""
    gate = services.folder / "layout-gate"
    jobs = {}
    for title, options in SESSIONS.items():
        people = [Participant(participant_id=name) for name in options["agents"]]
        collab = Collab(title=title, purpose="see it", mode=options["mode"], participants=people)
        jobs[title] = services.client.submit(
            collab,
            agents=options["agents"],
            tenant=options.get("tenant"),
            options={"aggregator": "cyd"} if options["mode"] == "broadcast" else {},
            parameters={"gate": str(gate)},
            stop=MaxTurns(40),
        )
    speaking = jobs[LONG]
    until(
        lambda: sum(turn.status == "speaking" for turn in speaking.state().open_turns()) == 7, what="7 speak"
    )
    result_of(jobs["unbroken" * 30], timeout_s=60)
    yield jobs
    gate.touch()
    for job in jobs.values():
        if not job.state().is_final:
            job.cancel()


def test_nothing_is_cut_or_outside_at_any_width(sessions, open_tab, pictures):
    page = open_tab("/collabs", reduced_motion="reduce").page
    for job in sessions.values():
        expect(page.locator(f"#row-{job.id}")).to_be_visible()
    expect(page.locator(f"#row-{sessions[LONG].id} .c-now")).to_contain_text("and 4 more")
    assert layout_faults(page, pictures, "list") == {}


@pytest.mark.parametrize("number", range(len(SESSIONS)))
def test_session_fits_at_any_width(sessions, open_tab, pictures, number):
    job = sessions[list(SESSIONS)[number]]
    page = open_tab(f"/collabs/{job.id}?events=newest", reduced_motion="reduce").page
    expect(page.locator("#people tr")).to_have_count(len(job.collab().participants))
    assert layout_faults(page, pictures, f"session-{number}") == {}


def test_whole_error_is_one_click_away(sessions, open_tab):
    page = open_tab("/collabs?status=failed").page
    cut = page.locator(f"#row-{sessions['unbroken' * 30].id} summary")
    before = cut.evaluate("it => it.clientHeight")
    cut.click()
    assert cut.evaluate("it => it.scrollHeight <= it.clientHeight + 1")
    assert cut.evaluate("it => it.clientHeight") >= before


#: Shows a row whose HTML has changed, as the stream does.
CHANGE = """async (row) => {
  const { show } = await import("/collabs/static/fragments.js");
  show({ html: { [row.id]: row.outerHTML.replace(">failed<", ">changed<").replace(' open=""', "") } });
}"""


def test_changed_row_keeps_what_a_person_did(sessions, open_tab):
    page = open_tab("/collabs?status=failed").page
    row = page.locator(f"#row-{sessions['unbroken' * 30].id}")
    expect(page.locator("[data-source]")).to_be_visible()
    row.locator("summary").click()
    row.get_by_role("checkbox").check()
    row.evaluate(CHANGE)
    expect(row.locator(".state")).to_have_text("changed")
    expect(row.locator("details")).to_have_attribute("open", "")
    expect(row.get_by_role("checkbox")).to_be_checked()
    expect(row.get_by_role("checkbox")).to_be_focused()


def test_columns_keep_their_widths(sessions, open_tab):
    page = open_tab("/collabs?q=unbroken").page
    widths = "() => [...document.querySelectorAll('#sessions thead th')].map((it) => it.offsetWidth)"
    before = page.evaluate(widths)
    page.goto("/collabs")
    assert page.evaluate(widths) == before

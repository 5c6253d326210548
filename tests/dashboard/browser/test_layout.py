"""The layout of every page with long and foreign texts, and many participants, at four widths and in both themes."""

from __future__ import annotations

from typing import Any

import pytest
from playwright.sync_api import expect

from live import result_of, until
from servers.layout import layout_faults
from symposia.models.protocol.collab import Collab, Participant
from symposia.models.sessions.stop_conditions import MaxTurns, TokenBudget
from symposia.state.presence import WorkerPresence
from symposia.state.redis.connect import connect

pytestmark = [pytest.mark.long, pytest.mark.timeout(300)]

LONG = (
    "How should the reading room lend rare books to the other libraries of the city during the renovation? "
    * 3
)
CJK = "展覧会カタログの翻訳:第三章「古い地図と航海の記録」を英語とフランス語に訳し、用語を統一する" * 2
RTL = "مراجعة عقد الإيجار والملاحق قبل التوقيع النهائي " * 3
UNBROKEN = "unbroken" * 30
MARKDOWN = f"""# {UNBROKEN}

{LONG}
a second line of the same paragraph

- {RTL}
- {CJK}

| {" | ".join(["a long head"] * 12)} |
|{"---|" * 12}
| {" | ".join(["a cell with words"] * 12)} |

```python
print("{UNBROKEN}")
```

<https://example.org/{UNBROKEN}>
"""
#: State -> title and options of a session.
SESSIONS: dict[str, dict[str, Any]] = {
    "running": {
        "title": LONG,
        "mode": "broadcast",
        "agents": {**{f"gated{n}": "gated" for n in range(7)}, "cyd": "say"},
        "options": {"aggregator": "cyd"},
        "tags": [f"tag-{number}-with-a-long-name" for number in range(5)],
    },
    "failed": {
        "title": UNBROKEN,
        "agents": {"ann": "say", "bob": "hostile_fail"},
        "text": f"{UNBROKEN}: {LONG}",
        "policy": {"attempts": 1, "then": "abort"},
    },
    "retry": {
        "title": f"{CJK} {UNBROKEN}",
        "agents": {"bob": "hostile_fail"},
        "text": f"/srv/{UNBROKEN}/{UNBROKEN}",
        "policy": {"attempts": 5, "backoff_s": 900, "max_backoff_s": 900},
    },
    "person": {
        "title": CJK,
        "agents": {"翻訳者": "hostile_ask"},
        "people": ["ben"],
        "text": MARKDOWN,
        "tenant": "museum-of-" + "long" * 20,
    },
    "written": {
        "title": RTL,
        "agents": {"ann": "hostile_say", "bob": "hostile_say"},
        "text": MARKDOWN,
        "stop": MaxTurns(2),
    },
    "suspended": {"title": LONG, "agents": {"ann": "human"}},
    "draft": {"title": UNBROKEN, "agents": {"ann": "say"}, "draft": True},
    "limit": {"title": LONG, "agents": {"ann": "model", "bob": "say"}, "stop": TokenBudget(1)},
    "many": {
        "title": "Sixty-four participants",
        "agents": {f"participant-with-a-long-identifier-{number:02}": "say" for number in range(64)},
    },
}
#: Name of a page -> its path, and what is visible when it is complete.
PAGES = {
    "list": ("/collabs", "#row-{running}"),
    **{
        f"list-{status}": (f"/collabs?status={status}", f"#row-{{{status}}}")
        for status in ("failed", "suspended", "draft")
    },
    **{f"list-{kind}": (f"/collabs?attention={kind}", f"#row-{{{kind}}}") for kind in ("retry", "person")},
    "list-of-nothing": (f"/collabs?q={UNBROKEN}{UNBROKEN}&since=24h", "#empty"),
    "list-by-agent": ("/collabs?group=agent", "#groups td"),
    "list-by-error": ("/collabs?group=error", "#groups td"),
    **{f"session-{state}": (f"/collabs/{{{state}}}?events=newest", "#people tr") for state in SESSIONS},
    "inbox": ("/inbox", "#questions .question"),
    "schedules": ("/schedules", "#rows tr"),
    "reviews": ("/reviews", "#rows a[href$='{review}']"),
    "review": ("/reviews/{review}", "main article"),
    "tasks": ("/tasks", "#tasks-table td a"),
    "task": ("/task/{task}", "main"),
    "past-task": ("/collabs/tasks/{task}?session={failed}", "#source"),
    "broker": ("/broker", "td"),
    "workers": ("/workers", "td a"),
    "worker": ("/worker/{worker}", "td"),
    "unknown-session": ("/collabs/0b7b1f5e-3f0e-4c1b-9d55-0a4d2c4c7d11", "#reason"),
    "unknown-page": ("/schedules/" + UNBROKEN, "#reason"),
}


def submit(services, gate, *, title: str, agents: dict[str, str], people=(), tags=(), text="", **options):
    roster = [Participant(participant_id=name) for name in agents]
    roster += [
        Participant(participant_id=name, kind="human", display_name=f"{name} {LONG}") for name in people
    ]
    mode = options.pop("mode", "round_robin")
    collab = Collab(
        title=title, purpose=f"see it {UNBROKEN}", mode=mode, participants=roster, meta={"tags": tags}
    )
    parameters = {"gate": str(gate), **({"text": text} if text else {})}
    return services.client.submit(
        collab, agents=agents, parameters=parameters, **{"stop": MaxTurns(40), **options}
    )


@pytest.fixture(scope="module")
def sessions(services):
    """Sessions whose texts are long or foreign; those that wait are cancelled after the tests."""
    gate = services.folder / "layout-gate"
    jobs = {state: submit(services, gate, **options) for state, options in SESSIONS.items()}
    until(lambda: len(speaking(jobs["running"])) == 7, what="7 speak")
    jobs["suspended"].suspend()
    until(jobs["person"].pending, what="ben is asked")
    for state in ("failed", "written", "limit", "many"):
        result_of(jobs[state], timeout_s=60)
    yield jobs
    for job in jobs.values():
        if not job.state().is_final:
            job.cancel()
    gate.touch()


def speaking(job):
    return [turn for turn in job.state().open_turns() if turn.status == "speaking"]


@pytest.fixture(scope="module")
def names(services, sessions, review):
    """Ids in the paths of the pages, by name."""
    job = review("hostile_review", f"{'long-name-' * 20}.txt", "bad.txt", root_name=UNBROKEN[:100])
    result_of(job, timeout_s=60)
    services.client.schedules.add(UNBROKEN[:60], cron="0 3 * * *", zone="Europe/Berlin", job="talk")
    tasks = [
        payload["task_id"]
        for event in sessions["failed"].events()
        if "task_id" in (payload := event.payload or {})
    ]
    with connect(services.client.redis_url) as redis:
        (worker,) = WorkerPresence(redis).list_alive()
    yield {
        **{state: job.id for state, job in sessions.items()},
        "review": job.id,
        "task": tasks[-1],
        "worker": worker.name,
    }
    services.client.schedules.remove(UNBROKEN[:60])


@pytest.mark.parametrize("name", PAGES)
def test_page_fits_at_any_width(names, open_tab, pictures, name):
    path, complete = (text.format(**names) for text in PAGES[name])
    tab = open_tab(path)
    expect(tab.page.locator(complete).first).to_be_visible()
    assert layout_faults(tab.page, pictures, name) == {}
    if name.startswith("unknown"):
        tab.errors.clear()  # the browser reports the status 404


def test_whole_error_is_one_click_away(sessions, open_tab):
    page = open_tab("/collabs?status=failed").page
    cut = page.locator(f"#row-{sessions['failed'].id} summary")
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
    row = page.locator(f"#row-{sessions['failed'].id}")
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

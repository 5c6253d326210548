"""The fixture `symposia`: the sessions of code under test run in the process of the test."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import threading
import tomllib
from concurrent.futures import ThreadPoolExecutor

import pytest
from celery import Celery

import symposia as package
from documents.pages import ROOT, Page
from live import until
from scaling import patient
from symposia import AsyncClient, Client, InvalidInput, LocalClient
from symposia.config.settings import load_settings

pytest_plugins = ["pytester"]

UNREACHABLE = "redis://127.0.0.1:1"
PAGE = Page("docs/testing.md")
VIEWS, TEST, CONFTEST = PAGE.take_all("python")


def talk(*names: str) -> dict[str, object]:
    return {
        "title": "Doors",
        "purpose": "choose a door",
        "mode": "round_robin",
        "participants": [{"participant_id": name} for name in names],
    }


def contents(job) -> list[str]:
    return [message.content for message in job.result(timeout=patient(20)).dialog.messages]


def installed_app(*, eager: bool = False) -> Celery:
    app = Celery("shop", broker=UNREACHABLE, set_as_current=False)
    app.conf.task_always_eager = eager
    package.install(app, load_settings(redis_url=UNREACHABLE))
    return app


def in_event_loop() -> str:
    async def submit() -> str:
        async with AsyncClient() as client:
            job = await client.submit(talk("ann"), stop={"max_turns": 2})
            assert (await job.result(timeout=patient(20))).ok
            return job.id

    return asyncio.run(submit())


def of_client(client: Client) -> str:
    with client:
        return client.submit(talk("ann"), stop={"max_turns": 2}).id


CODE = {
    "submit": lambda: package.submit(talk("ann"), stop={"max_turns": 2}).id,
    "client": lambda: of_client(Client()),
    "client of another server": lambda: of_client(Client(redis_url=UNREACHABLE)),
    "client of an app": lambda: of_client(Client(app=installed_app())),
    "client of an eager app": lambda: of_client(Client(app=installed_app(eager=True))),
    "event loop": in_event_loop,
}


@pytest.mark.parametrize("code", CODE)
@pytest.mark.parametrize("elsewhere", [False, True], ids=["same thread", "other thread"])
def test_session_of_any_client_runs_here(symposia, code, elsewhere):
    ann = symposia.register("ann", replies=["One door.", "Two doors."])
    if elsewhere:
        with ThreadPoolExecutor(1) as pool:
            job_id = pool.submit(CODE[code]).result()
    else:
        job_id = CODE[code]()
    [job] = symposia.jobs()
    assert (job.id, contents(job)) == (job_id, ["One door.", "Two doors."])
    assert [turn.purpose for turn in ann.turns] == ["choose a door"] * 2
    assert contents(package.get_job(job_id)) == contents(job)


def test_earlier_client_uses_it_while_the_test_runs(symposia_server):
    from symposia.testing.in_process import run_in_process

    with Client(redis_url=UNREACHABLE) as client, LocalClient() as other:
        with run_in_process(symposia_server) as installation:
            installation.register("ann", lambda _: "Here.")
            assert contents(client.submit(talk("ann"), stop={"max_turns": 1})) == ["Here."]
            assert other.jobs() == []  # it has an installation of its own
        with pytest.raises(package.SymposiaError):
            client.jobs()


@pytest.mark.parametrize("name", ["ben", None])
def test_person_is_answered(symposia, name):
    symposia.register("ann", replies=["Which door?"])
    job = package.submit(talk("ann", "ben"), agents={"ben": "human"}, stop={"max_turns": 2})
    assert symposia.answer("The red one.", name=name, timeout_s=patient(10)).participant == "ben"
    assert contents(job) == ["Which door?", "The red one."]


def test_missing_question_raises_timeout_error(symposia):
    with pytest.raises(TimeoutError, match=r"ben was not asked within 0\.01 s"):
        symposia.answer("Yes.", name="ben", timeout_s=0.01)


@pytest.mark.parametrize("number", [1, 2])
def test_each_test_begins_without_sessions(symposia, number):
    assert symposia.jobs() == []
    assert "ann" not in symposia.known_agents()
    symposia.register("ann", replies=["Hello."])
    package.submit(talk("ann"))


def test_agent_is_replaced(symposia):
    for text in ("One.", "Two."):
        symposia.register("ann", replies=[text])
        assert contents(package.submit(talk("ann"), stop={"max_turns": 1})) == [text]


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({}, "replies"),
        ({"agent": print, "replies": ["Hello."]}, "replies"),
        ({"replies": "Hello."}, "must be a list"),
        ({"replies": [{"says": "Hello."}]}, r"replies\[0\]\.says"),
        ({"agent": 3}, r"agents\.ann"),
    ],
)
def test_wrong_agent_is_refused(symposia, given, message):
    with pytest.raises(InvalidInput, match=message):
        symposia.register("ann", **given)


class TestSettings:
    @pytest.fixture
    def symposia_settings(self, monkeypatch, tmp_path):
        monkeypatch.setenv("SYMPOSIA_MEMORY_REDIS_URL", UNREACHABLE)
        monkeypatch.setenv("SYMPOSIA_DATA_DIR", str(tmp_path))
        return {"max_turns": 3}

    def test_settings_are_those_of_the_fixture(self, symposia, tmp_path):
        symposia.register("ann", replies=["Hello."])
        assert len(contents(package.submit(talk("ann")))) == 3
        assert symposia.settings.memory_redis_url is None
        assert symposia.settings.data_dir != tmp_path


def test_no_thread_outlives_it(symposia_server):
    from symposia.testing.in_process import run_in_process

    before = set(threading.enumerate())
    with run_in_process(symposia_server) as installation:
        installation.register("ann", lambda _: "Hello.")
        assert contents(package.submit(talk("ann"), stop={"max_turns": 1})) == ["Hello."]
    until(lambda: not {thread for thread in threading.enumerate() if thread.is_alive()} - before)


def test_project_of_the_page_on_testing_passes(pytester):
    """With the core packages only, and with warnings as errors: nothing is left running."""
    pytester.makepyfile(views=VIEWS, test_views=TEST, test_again=TEST)
    pytester.makeconftest(f"import sys\nsys.modules['pydantic_ai'] = None\n{CONFTEST}")
    pytester.makeini("[pytest]\nfilterwarnings = error")
    options = ["-p", "symposia.testing.plugin", "-p", "no:randomly", "-p", "no:cacheprovider"]
    pytester.runpytest_subprocess(*options, timeout=patient(50)).assert_outcomes(passed=2)


def test_entry_point_imports_no_library():
    """pytest imports it in each project with Symposia."""
    [module] = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["entry-points"][
        "pytest11"
    ].values()
    heavy = "{'celery', 'pydantic', 'redis', 'yaml'}"
    code = f"import sys, {module}; assert not {heavy} & sys.modules.keys()"
    subprocess.run([sys.executable, "-c", code], check=True, timeout=patient(30))

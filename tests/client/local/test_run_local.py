"""Sessions in one process: `run_local`, `run_local_sync` and `LocalClient`, on a real embedded server."""

from __future__ import annotations

import asyncio
import gc
import subprocess
import sys
import tempfile
import threading
from itertools import pairwise
from pathlib import Path

import psutil
import pytest
from pydantic import BaseModel
from pydantic_ai import Agent
from pydantic_ai.messages import ModelMessage, ModelResponse, TextPart, ToolCallPart, ToolReturnPart
from pydantic_ai.models.function import AgentInfo, FunctionModel

from live import until
from scaling import patient
from symposia import AgentBinding, InvalidInput, LocalClient, ResultTimeout, run_local, run_local_sync
from symposia.client.in_process.server import borrow_server, stop_idle_server
from symposia.models.turns.items import NewItem
from symposia.models.turns.turn import Decision, TurnContext, TurnOutcome
from symposia.state.redis.connect import connect

COLLAB = {"title": "Doors", "purpose": "choose a door", "mode": "round_robin"}


def ada(turn: TurnContext) -> str:
    return f"turn {turn.turn_number}"


async def ben(turn: TurnContext) -> str:
    await asyncio.sleep(0)
    return f"after {turn.messages[-1].content}"


def in_mode(mode: str) -> dict[str, str]:
    return {**COLLAB, "mode": mode}


def texts(result) -> list[str]:
    return [message.content for message in result.dialog.messages]


def test_functions_take_turns():
    result = run_local_sync(COLLAB, agents={"ada": ada, "ben": ben}, stop={"max_rounds": 2})
    assert (result.ok, result.reason) == (True, "max_rounds")
    assert texts(result) == ["turn 1", "after turn 1", "turn 3", "after turn 3"]


def test_next_turn_begins_with_the_newest_agents():
    """Also if the thread of the turn before keeps it."""

    def replacing(_turn: TurnContext) -> str:
        client._installation.add_agent("ben", lambda _turn: "new")
        return "replaced"

    with LocalClient({"ada": replacing, "ben": lambda _turn: "old"}) as client:
        job = client.submit(COLLAB, agents={"ada": "ada", "ben": "ben"}, stop={"max_rounds": 1})
        assert texts(job.result(timeout=patient(60))) == ["replaced", "new"]


def test_slow_sessions_take_turns_in_one_thread():
    order = []

    def slow(turn: TurnContext) -> str:
        order.append(turn.session_id)
        threading.Event().wait(0.25)  # longer than a thread keeps turns
        return f"This is turn {len(order)} of all."

    with LocalClient({"slow": slow}, threads=1) as client:
        how = {"agents": {"ada": "slow", "ben": "slow"}, "stop": {"max_rounds": 3}}
        jobs = [client.submit(COLLAB, **how) for _ in range(2)]
        assert [job.result(timeout=patient(60)).turns for job in jobs] == [6, 6]
    assert sum(one != other for one, other in pairwise(order)) >= 4


def test_a_coroutine_gets_the_result():
    result = asyncio.run(run_local(COLLAB, agents={"ada": ada, "ben": ben}, stop={"max_rounds": 1}))
    assert texts(result) == ["turn 1", "after turn 1"]


class Door(BaseModel):
    colour: str


def test_result_is_an_object_of_the_required_class():
    painter = Agent(FunctionModel(lambda _messages, info: paint(info)), output_type=Door)
    result = run_local_sync(COLLAB, agents={"ada": ada, "ben": painter}, stop={"max_rounds": 1}, output=Door)
    assert (result.output, result.text) == (Door(colour="red"), '{"colour":"red"}')


def paint(info: AgentInfo) -> ModelResponse:
    return ModelResponse(parts=[ToolCallPart(info.output_tools[0].name, {"colour": "red"})])


def decide(turn: TurnContext) -> TurnOutcome:
    if turn.messages:
        return TurnOutcome(decision=Decision(satisfied=True, reason="done"))
    return TurnOutcome(decision=Decision(next=("ada",), instruction="begin"))


@pytest.mark.parametrize(
    ("mode", "agents", "how", "said"),
    [
        (
            "pair",
            {"driver": ada, "navigator": lambda _turn: "APPROVED: good"},
            {},
            ["turn 1", "APPROVED: good"],
        ),
        ("orchestrated", {"orchestrator": decide, "ada": ada}, {}, ["turn 2"]),
        (
            "broadcast",
            {"ada": lambda _turn: "a", "cyd": lambda _turn: "a"},
            {"stop": {"max_rounds": 1}},
            ["a", "a"],
        ),
        ("swarm", {"ada": lambda turn: turn.item.text}, {"options": {"items": [{"text": "one"}]}}, ["one"]),
    ],
)
def test_every_mode_runs_with_functions(mode, agents, how, said):
    result = run_local_sync(in_mode(mode), agents=agents, **how)
    assert result.ok
    assert texts(result) == said


def test_an_agent_may_add_items():
    def split(turn: TurnContext) -> TurnOutcome:
        new = (NewItem(text="second"),) if turn.item.text == "first" else ()
        return TurnOutcome.say(turn.item.text).model_copy(update={"items": new})

    options = {"items": [{"text": "first"}]}
    assert texts(run_local_sync(in_mode("swarm"), agents={"ada": split}, options=options)) == [
        "first",
        "second",
    ]


def test_a_function_of_text_gets_the_prompt():
    prompts: list[str] = []

    def cyd(prompt: str) -> str:
        prompts.append(prompt)
        return "I have read it."

    run_local_sync(COLLAB, agents={"ada": ada, "cyd": cyd}, stop={"max_rounds": 1})
    assert "<task>\nchoose a door\n</task>" in prompts[0]
    assert '<message from="ada" turn="1">\nturn 1\n</message>' in prompts[0]
    assert prompts[0].endswith("</turn>")


def test_a_pydantic_ai_agent_uses_its_tools():
    def answer(messages: list[ModelMessage], _info: AgentInfo) -> ModelResponse:
        returned = [it for it in messages[-1].parts if isinstance(it, ToolReturnPart)]
        if not returned:
            assert "turn 1" in str(messages[0])
            return ModelResponse(parts=[ToolCallPart("measure", {"door": "red"})])
        return ModelResponse(parts=[TextPart(f"The red one is {returned[0].content} wide.")])

    agent = Agent(FunctionModel(answer))

    @agent.tool_plain
    def measure(door: str) -> str:
        return "90 cm" if door == "red" else "unknown"

    result = run_local_sync(COLLAB, agents={"ada": ada, "ben": agent}, stop={"max_rounds": 1})
    assert texts(result)[-1] == "The red one is 90 cm wide."
    assert result.usage.requests == 2


def test_registered_agents_may_take_part():
    agents = {"ada": ada, "bot": AgentBinding(agent="echo"), "cyd": "echo"}
    result = run_local_sync(COLLAB, agents=agents, stop={"max_rounds": 1})
    assert texts(result)[1:] == ["turn 1", "turn 1"]


def test_messages_are_reported_as_they_come():
    heard: list[str] = []
    result = run_local_sync(
        COLLAB, agents={"ada": ada}, stop={"max_rounds": 3}, on_message=lambda it: heard.append(it.content)
    )
    assert heard == texts(result) == ["turn 1", "turn 2", "turn 3"]


def test_a_failed_turn_is_tried_again():
    attempts: list[int] = []

    def shaky(turn: TurnContext) -> str:
        attempts.append(turn.attempt)
        if turn.attempt == 1:
            raise OSError("no disk")
        return "second try"

    policy = {"attempts": 2, "backoff_s": 0.1}
    result = run_local_sync(COLLAB, agents={"ada": shaky}, stop={"max_turns": 1}, policy=policy)
    assert texts(result) == ["second try"]
    assert attempts == [1, 2]


def hang(_turn: TurnContext) -> str:
    threading.Event().wait(patient(60))
    return "too late"


def test_the_time_limit_cancels_the_session():
    with pytest.raises(ResultTimeout, match=r"did not end within 0\.5 s; it was cancelled"):
        run_local_sync(COLLAB, agents={"ada": hang}, timeout_s=0.5)


def test_a_cancelled_call_ends_the_session():
    started = threading.Event()

    async def slow(_turn: TurnContext) -> str:
        started.set()
        await asyncio.sleep(patient(60))
        return "too late"

    async def main() -> None:
        task = asyncio.ensure_future(run_local(COLLAB, agents={"ada": slow}))
        assert await asyncio.to_thread(started.wait, patient(30))
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(main())


def test_an_error_of_a_cancelled_call_is_not_logged(caplog: pytest.LogCaptureFixture):
    async def main() -> None:
        task = asyncio.ensure_future(run_local(COLLAB, agents={"ada": 5}))
        await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(main())
    gc.collect()
    assert "never retrieved" not in caplog.text


def test_only_an_idle_server_remains_after_the_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    stop_idle_server()
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    before, threads = children(), threading.active_count()
    run_local_sync(COLLAB, agents={"ada": ada}, stop={"max_turns": 1})
    (kept,) = children() - before
    run_local_sync(COLLAB, agents={"ada": ada}, stop={"max_turns": 1})
    assert children() - before == {kept}
    stop_idle_server()
    assert list(tmp_path.iterdir()) == []
    assert children() == before
    until(lambda: threading.active_count() <= threads + 1, what="its threads end")


def test_next_client_finds_an_empty_server():
    stop_idle_server()
    urls = []
    for _ in range(2):
        with LocalClient({"ada": ada}) as client, connect(client.redis_url) as redis:
            urls.append(client.redis_url)
            assert not redis.exists("of the first client")
            redis.set("of the first client", 1)
    assert urls[0] == urls[1]
    with LocalClient({"ada": ada}) as one, LocalClient({"ada": ada}) as two:
        assert one.redis_url != two.redis_url


def test_a_fork_leaves_the_server_of_its_parent(tmp_path: Path):
    program = tmp_path / "forks.py"
    program.write_text(FORKS)
    done = subprocess.run(
        [sys.executable, program], capture_output=True, text=True, timeout=patient(60), check=False
    )
    assert (done.returncode, done.stdout) == (0, "kept\n"), done.stderr


FORKS = """
import os, sys
from symposia.client.in_process.server import borrow_server, stop_idle_server
from symposia.state.redis.connect import connect

def fork(act):
    if (pid := os.fork()) == 0:
        act()
        sys.exit()
    assert os.waitpid(pid, 0)[1] == 0

def borrow():
    with borrow_server():
        pass

with borrow_server():  # becomes idle
    pass
fork(borrow)
fork(stop_idle_server)
with borrow_server() as url, connect(url) as redis:
    redis.set("of the parent", 1)
    folder = redis.config_get("dir")["dir"]
    if os.fork() == 0:
        sys.exit()  # leaves the block
    assert os.wait()[1] == 0
    assert redis.exists("of the parent")
with borrow_server() as again:
    assert again == url
    assert os.path.isdir(folder)
print("kept")
"""


def test_folder_of_a_dead_server_is_removed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    stop_idle_server()
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    before = children()
    with borrow_server() as first:
        pass
    (pid,) = children() - before
    psutil.Process(pid).kill()
    with borrow_server() as second:
        assert second != first
        assert len(list(tmp_path.iterdir())) == 1
    stop_idle_server()


def children() -> set[int]:
    return {it.pid for it in psutil.Process().children() if "valkey" in it.name()}


@pytest.mark.parametrize(
    ("collab", "agents", "message"),
    [
        (COLLAB, {"ada": 5}, r"agents\.ada: must be a callable, or an agent of .* \(got 5\)"),
        (COLLAB, {"ada": "nobody"}, r"agents\.ada: must be a registered agent"),
        (COLLAB, {}, "participants"),
        (5, {"ada": ada}, r"collab: must be a Collab, a table of its fields, or the Path of a session file"),
        (COLLAB, [ada], r"agents: must be a table of agents by name"),
        (COLLAB, {1: ada}, r"agents: must have texts as names \(got 1\)"),
        ({**COLLAB, "participants": [5]}, {"ada": ada}, r"participants\[0\]: must be an object"),
        (COLLAB, {"ada": "human"}, r"agents: must answer by themselves, but 'human' waits for a person"),
        (
            {**COLLAB, "participants": [{"participant_id": "pat", "kind": "human"}]},
            {},
            r"agents: must answer by themselves, but 'human' waits for a person: use `LocalClient`",
        ),
    ],
)
def test_wrong_arguments_get_one_clear_line(collab, agents, message):
    with pytest.raises(InvalidInput, match=message) as error:
        run_local_sync(collab, agents=agents)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("how", "message"),
    [
        ({"timeout_s": -1}, r"timeout_s: must be a number greater than 0 \(got -1\)"),
        ({"threads": 0}, r"threads: must be an integer of at least 1"),
        ({"on_message": 5}, r"on_message: must be a function of a message"),
        ({"inputs": {"a": 1}}, r"inputs: must be set together with the Path of a session file"),
        ({"stopp": {}}, r"stopp: must be an argument of `submit`"),
    ],
)
def test_wrong_options_get_one_clear_line(how, message):
    with pytest.raises(InvalidInput, match=message):
        run_local_sync(COLLAB, agents={"ada": ada}, **how)


def test_an_error_in_on_message_loses_no_message():
    seen = []

    def fail_once(message):
        seen.append(message.content)
        if len(seen) == 1:
            raise ValueError("no screen")

    run_local_sync(COLLAB, agents={"ada": ada}, stop={"max_turns": 2}, on_message=fail_once)
    assert seen == ["turn 1", "turn 2"]


LETTER = """
title: A letter
purpose: Write about {topic}.
mode: round_robin
inputs: [{name: topic}]
participants: [{participant_id: ada}, {participant_id: ben, agent: echo}]
stop: {max_turns: 2}
"""


def test_a_session_file_runs_with_inputs(tmp_path: Path):
    path = tmp_path / "letter.yaml"
    path.write_text(LETTER)
    result = run_local_sync(path, agents={"ada": lambda turn: turn.purpose}, inputs={"topic": "doors"})
    assert texts(result)[0] == "Write about doors."
    assert (result.reason, [it.speaker for it in result.dialog.messages]) == ("max_turns", ["ada", "ben"])


@pytest.mark.parametrize(
    ("text", "inputs", "message"),
    [
        (LETTER, None, r"letter.yaml:5: inputs.topic: is required, of type string"),
        ("title: [", None, r"letter.yaml:.*is not YAML"),
    ],
)
def test_a_wrong_session_file_gets_one_clear_line(tmp_path: Path, text, inputs, message):
    path = tmp_path / "letter.yaml"
    path.write_text(text)
    with pytest.raises(InvalidInput, match=message) as error:
        run_local_sync(path, agents={"ada": ada}, inputs=inputs)
    assert "\n" not in str(error.value)
    with pytest.raises(InvalidInput, match="cannot be read"):
        run_local_sync(tmp_path / "none.yaml", agents={"ada": ada})


def test_a_person_answers_through_the_client():
    everyone = [{"participant_id": "ada", "kind": "agent"}, {"participant_id": "pat", "kind": "human"}]
    with LocalClient({"ada": ada}) as client:
        job = client.submit(
            {**COLLAB, "participants": everyone}, agents={"ada": "ada"}, stop={"max_rounds": 1}
        )
        until(job.pending, what="the person is asked")
        job.reply("pat", "The blue one.")
        assert texts(job.result(timeout=patient(30))) == ["turn 1", "The blue one."]
    with pytest.raises(Exception, match="closed"):
        job.state()

"""Agents that are language models, against a real HTTP server that answers, refuses, dawdles and babbles."""

from __future__ import annotations

import os
import threading
import time

import pytest

from live import until
from scaling import patient
from servers.model_stub import Answer, completion, refusal
from sessions.turns_of_agents import ROSTER
from symposia.agents.llm.agent import LLMAgent
from symposia.agents.llm.clients import Endpoint
from symposia.agents.llm.settings import LLMSettings, ModelSource
from symposia.models.errors import AgentFailed, AgentTimeout
from symposia.models.protocol.collab import CollabMode
from symposia.models.turns.items import WorkItem
from symposia.models.turns.turn import Decision, Expects, TurnOutcome, Usage

pytestmark = pytest.mark.real_models

KEY = "sk-a-very-secret-key"


@pytest.fixture
def agent(model):
    def make(**manner):
        prices = manner.pop("price", None)
        return LLMAgent(
            lambda: [ModelSource(Endpoint("stub", model.url, KEY), prices)],
            LLMSettings(**({"retries": 0} | manner)),
        )

    return make


@pytest.fixture
def speak(runner, turn, agent):
    def spoken(context=None, *, timeout_s=None, **manner):
        timeout_s = timeout_s or patient(10)
        return runner.run(agent(**manner), context or turn(timeout_s=timeout_s), timeout_s=timeout_s)

    return spoken


def test_model_text_becomes_a_message_with_its_usage(speak, model):
    model.answers(completion("  Well said.\n"))
    usage = Usage(input_tokens=11, output_tokens=7, requests=1)
    assert speak() == TurnOutcome.say("Well said.", usage=usage)


def test_key_and_settings_reach_the_provider(speak, model):
    speak(temperature=0.3, max_tokens=99)
    asked = model.asked[0]
    assert asked.headers["authorization"] == f"Bearer {KEY}"
    assert (asked.body["model"], asked.body["temperature"]) == ("stub", 0.3)
    assert 99 in (asked.body.get("max_tokens"), asked.body.get("max_completion_tokens"))


def test_unset_options_are_left_to_the_provider(speak, model):
    speak()
    assert not {"temperature", "max_tokens", "max_completion_tokens", "tools"} & model.asked[0].body.keys()


def test_model_request_stays_within_the_reservation(speak, model, turn, message):
    said = [message("bob", "x" * 400, number) for number in range(1, 10)]
    speak(turn(messages=said, turn_number=10, remaining={"tokens": 300}), max_tokens=99)
    short = model.asked[-1].body
    assert 99 in (short.get("max_tokens"), short.get("max_completion_tokens"))
    assert sum(content.count("x" * 400) for _, content in model.asked[-1].messages) == 1
    speak(turn(remaining={"tokens": 50}), max_tokens=99)
    assert 50 in (model.asked[-1].body.get("max_tokens"), model.asked[-1].body.get("max_completion_tokens"))


def test_system_prompt_names_roles_and_rules(speak, model, turn):
    speak(turn(approvers=("dan",), observers=("eve",)), instructions="You write haiku.")
    role, system = model.asked[0].messages[0]
    assert role == "system"
    assert "You are Ann" not in system.partition("You are ann (Ann), coder.\nYou write haiku.\n")[0]
    assert "Participants:\n- ann (Ann), coder\n- bob (Bob)\n- cleo\n" in system
    for part in ("one after the other", "PASS", "a person (dan or eve)", "ASK dan: your question"):
        assert part in system


TASK = "<task>\nFind a name\n</task>"


@pytest.mark.parametrize(
    ("said", "shown"),
    [
        ((), [("user", [TASK])]),
        (
            (("bob", "hi"), ("cleo", "hey"), ("ann", "hello"), ("bob", "well")),
            [
                ("user", [TASK, '<message from="bob" name="Bob" turn="1">\nhi\n</message>', '<message from="cleo" turn="2">\nhey\n</message>']),
                ("assistant", ["hello"]),
                ("user", ['<message from="bob" name="Bob" turn="4">\nwell\n</message>']),
            ],
        ),
        ((("ann", "hello"),), [("user", [TASK]), ("assistant", ["hello"]), ("user", [])]),
    ],
)  # fmt: skip
def test_only_own_messages_have_the_assistant_role(speak, model, turn, message, said, shown):
    messages = [message(who, text, number) for number, (who, text) in enumerate(said, 1)]
    speak(turn(messages=messages, turn_number=len(said) + 1))
    *before, (role, last) = [(role, text) for role, text in model.asked[0].messages[1:]]
    assert [*before, (role, last.partition("<turn ")[0].rstrip())] == [
        (role, "\n\n".join(blocks)) for role, blocks in shown
    ]
    assert last.endswith("</turn>")


def test_messages_of_another_dialog_are_marked_earlier(speak, model, turn, message):
    said = [message("ann", "hello", 1).as_history(), message("bob", "hi", 2).as_history()]
    speak(turn(messages=said, instruction="Be bold."))
    ((_, shown),) = model.asked[0].messages[1:]
    assert '<message from="ann" name="Ann" earlier="yes">\nhello\n</message>' in shown
    assert shown.endswith('<turn number="1">\nBe bold.\n</turn>')


def test_dialog_that_does_not_fit_is_cut_to_its_newer_half(speak, model, turn, message):
    said = [message("bob", f"{number} " + "x" * 398, number) for number in range(1, 9)]
    speak(turn(messages=said, turn_number=9), context_tokens=500)
    prompt = model.asked[0].messages[-1][1]
    assert [number for number in range(1, 9) if f">\n{number} xx" in prompt] == [7, 8]


def test_too_long_newest_message_keeps_its_end(speak, model, turn, message):
    speak(turn(messages=[message("bob", "x" * 10_000 + " the end")]), context_tokens=100)
    prompt = model.asked[0].messages[-1][1]
    assert "the end" in prompt
    assert len(prompt) < 500


@pytest.mark.parametrize(
    ("changes", "form"),
    [
        ({"mode": "orchestrated", "expects": Expects.DECISION}, ("NEXT:", "INSTRUCTION name:", "TOGETHER:", "STALLED:", "DONE:")),
        ({"mode": "pair", "expects": Expects.REVIEW, "roster": ROSTER[:2], "turn_number": 2}, ("Review turn 1", "APPROVED:")),
        ({"mode": "swarm"}, ("ITEM:", "HAND OFF:")),
    ],
)  # fmt: skip
def test_prompt_explains_the_text_form_if_unstructured(speak, model, turn, message, changes, form):
    speak(turn(messages=[message("bob", "hi")], **changes), structured=False)
    assert "tools" not in model.asked[0].body
    whole = "\n".join(text for _, text in model.asked[0].messages)
    assert all(word in whole for word in form)


def test_work_item_is_part_of_the_prompt(speak, model, turn):
    speak(turn(mode=CollabMode.SWARM, item=WorkItem(item_id="i", text="dig a hole")))
    assert "Your item i: dig a hole" in model.asked[0].messages[-1][1]


def test_small_model_gets_a_plain_prompt(speak, model, turn, message):
    context = turn(
        mode="orchestrated", expects="decision", messages=[message("bob", "hi"), message("ann", "ho")]
    )
    outcome = speak(context, plain=True, instructions="Be brief.")
    assert model.asked[0].messages == [
        ("system", "You are Ann, coder. Be brief."),
        (
            "user",
            (
                "Task: Find a name\n\nBob said:\n  hi\nYou said:\n  ho\n\nWho speaks next: bob or cleo? Answer with one line: "
                "NEXT: and a name. If the task is answered, write DONE: and the answer."
            ),
        ),
    ]
    assert outcome.decision == Decision(instruction="Well said.")


@pytest.mark.parametrize("said", ["Ann: fine", "ann:  fine", "ANN: fine"])
def test_own_name_before_an_answer_is_removed(speak, model, said):
    model.answers(completion(said))
    assert speak().messages[0].content == "fine"


def test_decision_is_structured_and_also_a_message(speak, model, turn):
    chosen = {
        "satisfied": False,
        "next": [{"name": "bob", "instruction": "write"}, {"name": "cleo"}],
        "reason": "go",
    }
    model.answers(completion(tool=("decide", chosen)))
    outcome = speak(turn(mode="orchestrated", expects="decision"))
    assert outcome.decision == Decision(next=("bob", "cleo"), instructions={"bob": "write"}, reason="go")
    assert outcome.messages[0].content == "NEXT: bob, cleo\nINSTRUCTION bob: write"
    assert outcome.usage == Usage(input_tokens=11, output_tokens=7, requests=1)


@pytest.mark.parametrize(
    ("chosen", "words"),
    [
        ({"satisfied": True, "reason": "all done"}, "DONE: all done"),
        ({"satisfied": True}, "DONE:"),
        ({"satisfied": True, "reason": "all done", "answer": "Call it Otto."}, "Call it Otto."),
        ({"satisfied": False, "side_by_side": True, "next": [{"name": "bob"}]}, "TOGETHER: bob"),
        ({"satisfied": False, "progress": False, "reason": "stuck", "next": [{"name": "bob"}]}, "STALLED: stuck\nNEXT: bob"),
    ],
)  # fmt: skip
def test_structured_decision_is_written_in_text_form(speak, model, turn, chosen, words):
    model.answers(completion(tool=("decide", chosen)))
    assert speak(turn(mode="orchestrated", expects="decision")).messages[0].content == words


def test_review_is_structured(speak, model, turn):
    model.answers(completion(tool=("review", {"approved": True, "comment": "short and clear"})))
    outcome = speak(turn(mode="pair", expects="review"))
    assert outcome.decision == Decision(satisfied=True, reason="short and clear")
    assert outcome.messages[0].content == "APPROVED: short and clear"


def test_wrong_form_is_returned_once_and_then_fails(speak, model, turn):
    context = turn(mode="pair", expects="review")
    wrong, right = (
        completion(tool=("review", form)) for form in ({}, {"approved": False, "comment": "mend"})
    )
    model.answers(wrong, right)
    assert speak(context).usage.requests == 2
    model.answers(wrong)
    with pytest.raises(AgentFailed, match="UnexpectedModelBehavior") as error:
        speak(context)
    assert (error.value.retryable, error.value.origin) == (True, None)


def test_invalid_choice_is_returned_with_the_reason(speak, model, turn):
    wrong, right = (
        completion(tool=("decide", {"satisfied": False, "next": [{"name": name}]})) for name in ("zoe", "bob")
    )
    model.answers(wrong, right)
    outcome = speak(turn(mode="orchestrated", expects="decision"))
    assert (outcome.decision.next, outcome.usage.requests) == (("bob",), 2)
    sent_back = model.asked[1].body["messages"][-1]["content"]
    assert "'zoe' is not a participant. Give in next one or more of bob, cleo." in sent_back


def test_repeated_empty_choice_is_left_to_the_planner(speak, model, turn):
    model.answers(completion(tool=("decide", {"satisfied": False, "next": []})))
    outcome = speak(turn(mode="orchestrated", expects="decision"))
    assert (outcome.decision, outcome.asked_again) == (Decision(), True)
    assert outcome.usage.requests == len(model.asked) == 3


@pytest.mark.parametrize("status", [408, 409, 429, 500, 502, 503, 529])
def test_temporary_error_is_retryable(speak, model, status):
    model.answers(refusal(status, "come back later"))
    with pytest.raises(AgentFailed, match=f"HTTP {status} from model 'stub': come back later") as error:
        speak()
    assert error.value.retryable


def test_api_key_is_in_no_provider_error(speak, model):
    model.answers(refusal(401, f"Incorrect API key provided: {KEY}. Or was it hunter2?"))
    with pytest.raises(AgentFailed) as error:
        speak()
    assert KEY not in str(error.value)
    assert "***" in str(error.value)


@pytest.mark.parametrize(
    "answer",
    [
        Answer(200, "this is not JSON"),
        Answer(200, {}),
        Answer(200, {"choices": []}),
        completion(""),
        completion("Ann: "),
    ],
)
def test_unreadable_model_answer_is_retryable(speak, model, answer):
    model.answers(answer)
    with pytest.raises(AgentFailed) as error:
        speak()
    assert error.value.retryable
    assert "\n" not in str(error.value)


def test_html_error_page_becomes_one_short_line(speak, model):
    model.answers(Answer(502, "<html>\n" + "bad gateway " * 200 + "</html>", {"content_type": "text/html"}))
    with pytest.raises(AgentFailed) as error:
        speak()
    assert len(str(error.value)) < 400
    assert "\n" not in str(error.value)


def test_model_timeout_ends_the_turn(speak, model, turn):
    model.answers(Answer(gate=threading.Event()))
    with pytest.raises(AgentTimeout):
        speak(turn(timeout_s=60), timeout_s=0.3)


def test_one_request_may_have_less_time_than_the_turn(speak, model):
    model.answers(Answer(gate=threading.Event()))
    with pytest.raises(AgentFailed, match="ModelTimeoutError") as error:
        speak(request_timeout_s=0.2)
    assert error.value.retryable


def test_refused_connection_is_retryable(runner, turn):
    agent = LLMAgent(lambda: [ModelSource(Endpoint("stub", "http://127.0.0.1:9/v1"))], LLMSettings(retries=0))
    with pytest.raises(AgentFailed, match="ModelConnectionError: request to model 'stub'") as error:
        runner.run(agent, turn(), timeout_s=patient(10))
    assert error.value.retryable


def test_unknown_provider_is_not_retried(runner, turn):
    with pytest.raises(AgentFailed, match="Unknown provider: nowhere") as error:
        runner.run(
            LLMAgent(lambda: [ModelSource(Endpoint("nowhere:model"))], LLMSettings()),
            turn(),
            timeout_s=patient(10),
        )
    assert not error.value.retryable


def test_turns_of_many_threads_share_connections(runner, turn, agent, model):
    speaker = agent()
    for _ in range(5):
        runner.run(speaker, turn(), timeout_s=patient(10))
        runner.run(agent(temperature=0.5), turn(), timeout_s=patient(10))
    assert len({asked.peer for asked in model.asked}) == 1


@pytest.mark.skipif(not hasattr(os, "fork"), reason="forks processes")
@pytest.mark.filterwarnings("ignore:This process.*is multi-threaded:DeprecationWarning")
def test_forked_child_opens_its_own_connections(runner, turn, agent, model):
    speaker = agent()
    runner.run(speaker, turn(), timeout_s=patient(10))
    left_at = time.monotonic()
    child = os.fork()
    if child == 0:
        status = 1
        try:
            runner.run(speaker, turn(), timeout_s=patient(10))
            status = 0
        finally:
            os._exit(status)
    _, status = os.waitpid(child, 0)
    assert os.waitstatus_to_exitcode(status) == 0
    idle_s = time.monotonic() - left_at
    runner.run(speaker, turn(), timeout_s=patient(10))
    parents, childs, parents_again = (asked.peer for asked in model.asked)
    assert parents == parents_again or idle_s > 4  # a connection that is idle for five seconds is closed
    assert parents != childs


def test_turns_call_the_model_in_parallel(runner, turn, agent, model):
    gate = threading.Event()
    said = completion("together")
    said.gate = gate
    model.answers(said)
    speaking = [runner.start(agent(), turn(), timeout_s=patient(20)) for _ in range(8)]
    # Longer than a turn: one that does not call the model logs why.
    until(lambda: len(model.asked) == 8, timeout_s=25, what="eight requests are under way")
    gate.set()
    assert [each.result().messages[0].content for each in speaking] == ["together"] * 8


def test_unknown_price_costs_nothing(speak):
    assert speak().usage.cost_micros == 0


def test_a_new_key_is_used_at_the_next_turn(runner, turn, model):
    keys = iter(["first", "second"])
    agent = LLMAgent(lambda: [ModelSource(Endpoint("stub", model.url, next(keys)))], LLMSettings())
    runner.run(agent, turn(), timeout_s=patient(10))
    runner.run(agent, turn(), timeout_s=patient(10))
    assert [asked.headers["authorization"] for asked in model.asked] == ["Bearer first", "Bearer second"]


def test_local_server_is_called_without_a_proxy(speak, monkeypatch):
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    assert speak().messages[0].content == "Well said."

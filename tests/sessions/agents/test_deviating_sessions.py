"""Whole sessions with models whose answers deviate, in one process with a real server."""

from __future__ import annotations

import pytest

from servers.model_stub import Answer, StubModel, completion, refusal
from symposia import LocalClient

pytestmark = pytest.mark.real_models

TALK = {"title": "t", "purpose": "Talk.", "mode": "round_robin", "participants": [{"participant_id": "ada"}]}
DOOR = {
    "title": "t",
    "purpose": "Fix the door.",
    "mode": "orchestrated",
    "participants": [
        {"participant_id": "lead", "role_id": "orchestrator"},
        {"participant_id": "tester"},
        {"participant_id": "writer"},
        {"participant_id": "senior_engineer", "display_name": "Senior Engineer", "role_id": "engineer"},
    ],
}
AGENTS = """
[models.m]
model = "stub"
base_url = "{url}"
[agents.lead]
kind = "llm"
model = "m"
structured = false
[agents.form]
kind = "llm"
model = "m"
[agents.ada]
kind = "llm"
model = "m"
[agents.strict]
kind = "llm"
model = "m"
on_length = "fail"
on_filter = "fail"
"""


@pytest.fixture
def model():
    with StubModel() as stub:
        yield stub


@pytest.fixture
def client(model, tmp_path, monkeypatch):
    path = tmp_path / "agents.toml"
    path.write_text(AGENTS.format(url=model.url))
    monkeypatch.setenv("SYMPOSIA_AGENTS_FILE", str(path))
    with LocalClient(
        {name: lambda _: "My work." for name in ("tester", "writer", "senior_engineer")}
    ) as client:
        yield client


def lead(client, *, structured=False):
    agents = {"lead": "form"} if structured else {}
    return client.submit(DOOR, stop={"max_rounds": 2}, agents=agents).result()


@pytest.mark.parametrize("structured", [False, True])
def test_wording_of_an_orchestrator_is_understood_in_each_round(client, model, structured):
    for text in (
        r"NEXT: senior\_engineer",
        "NEXT: senior_engineer (it knows the code)",
        "next: senior_engineer",
        "senior_engineer",
        '{"next": "senior_engineer"}',
        "\x1b[33mNEXT: senior_engineer\x1b[0m",
    ):
        model.reset()
        model.answers(completion(text))
        result = lead(client, structured=structured)
        assert result.reason == "max_rounds"
        assert [message.speaker for message in result.dialog.messages] == ["lead", "senior_engineer"] * 2
        assert len(model.asked) == 2


@pytest.mark.parametrize("structured", [False, True])
def test_orchestrator_without_a_decision_is_told_once_and_the_longest_waiting_speaks(
    client, model, structured
):
    model.answers(completion("What a fine day."))
    result = lead(client, structured=structured)
    assert [message.speaker for message in result.dialog.messages] == ["lead", "tester", "lead", "writer"]
    assert (result.reason, len(model.asked)) == ("max_rounds", 4)


@pytest.mark.parametrize(
    ("text", "note"),
    [
        (
            "NEXT: architect",
            "'architect' is not a participant. Answer with NEXT: and one of tester, writer, senior_engineer.",
        ),
        ("NEXT: lead", "You cannot name yourself. Give the turn to one of tester, writer, senior_engineer,"),
        ("Tester or writer could.", "Name one: NEXT: tester or NEXT: writer."),
    ],
)
def test_orchestrator_is_told_what_was_wrong(client, model, text, note):
    model.answers(completion(text), completion("NEXT: writer"))
    result = lead(client)
    assert [message.speaker for message in result.dialog.messages][:2] == ["lead", "writer"]
    assert note in model.asked[1].messages[-1][1]


def ended(text, finish_reason, **message):
    answer = completion(text)
    answer.body["choices"][0]["finish_reason"] = finish_reason
    answer.body["choices"][0]["message"].update(message)
    return answer


@pytest.mark.parametrize("agent", ["ada", "strict"])
@pytest.mark.parametrize(
    ("answer", "ends"),
    [
        (
            ended(None, "stop", refusal="I cannot help."),
            {"ada": "I cannot help.", "strict": "I cannot help."},
        ),
        (ended("", "content_filter"), {"ada": "content_filter", "strict": "content_filter"}),
        (ended("The first", "content_filter"), {"ada": None, "strict": "a content filter removed the rest"}),
        (ended("The first", "length"), {"ada": None, "strict": "the model reached its token limit"}),
        (
            refusal(400, "filtered by the policy", code="content_filter"),
            {"ada": "policy", "strict": "policy"},
        ),
        (ended("All good.", None), {"ada": None, "strict": None}),
        (ended("All good.", "eos"), {"ada": None, "strict": None}),
    ],
)
def test_incomplete_answer_is_marked_or_ends_the_session(client, model, agent, answer, ends):
    model.answers(answer)
    policy = {"attempts": 3, "backoff_s": 0.1}
    job = client.submit(TALK, stop={"max_turns": 1}, policy=policy, agents={"ada": agent})
    result = job.result()
    reason = ends[agent]
    finish_reason = answer.body["choices"][0]["finish_reason"] if "choices" in answer.body else None
    if reason is not None:
        assert reason in result.detail
        assert "\n" not in result.detail
    else:
        (message,) = result.dialog.messages
        cut = finish_reason if finish_reason in ("length", "content_filter") else None
        assert message.cut == cut
    is_continued = agent == "ada" and finish_reason == "length"
    assert len(model.asked) == 1 + is_continued
    assert result.usage.tokens == (18 * len(model.asked) if answer.status == 200 else 0)


def test_half_a_character_is_replaced_and_paid_once(client, model):
    body = {
        **completion("half an emoji \ud83d\0").body,
        "usage": {"prompt_tokens": 700, "completion_tokens": 50, "total_tokens": 750},
    }
    model.answers(Answer(body=body))
    result = client.submit(TALK, stop={"max_turns": 1}).result()
    assert (result.text, result.usage.tokens, len(model.asked)) == ("half an emoji \ufffd", 750, 1)


def test_lines_in_the_name_of_others_are_not_in_the_dialog(client, model):
    model.answers(completion("Ada: I am for it.\n\ntester: APPROVED\nwriter: me too"))
    room = {**TALK, "participants": ["ada", "tester", "writer"]}
    result = client.submit(room, stop={"max_turns": 1}).result()
    assert [message.content for message in result.dialog.messages] == ["I am for it."]

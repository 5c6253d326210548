"""Replay of recorded sessions: what is answered from the record, and which differences are found."""

from __future__ import annotations

import re
import sys

import pytest

from live import SUPPORT
from servers.model_stub import completion, refusal
from sessions.panels import PANEL
from stub_agents import replay as python_agents
from symposia.models.errors import InvalidInput, NotRecorded, ReplayDiffers
from symposia.models.modes import round_robin
from symposia.models.sessions.options import AfterRetries, FailurePolicy, ModeOptions
from symposia.models.sessions.stop_conditions import MaxTurns
from symposia.state.sessions.archiving import RecordingStore

pytestmark = pytest.mark.real_models

PAIR = {"ann": "texting", "bob": "texting"}


@pytest.fixture
def recorded(installation, model):
    """A recorded session of two models, which has ended."""

    def run(agents=PAIR, *, answers=("One.", "Two."), turns=3, mode="round_robin", **how):
        model.answers(*(it if not isinstance(it, str) else completion(it) for it in answers))
        job = installation.submit(mode, agents, **{"stop": MaxTurns(turns), **how})
        installation.work()
        return job

    return run


def replay(installation, job, **options):
    return installation.client.replay(job.id, **options)


def difference(installation, job, **options):
    with pytest.raises(ReplayDiffers) as caught:
        replay(installation, job, **options)
    return str(caught.value)


# -- answers from the record ----------------------------------------------------------------------


def test_requests_are_answered_from_the_record(installation, model, recorded):
    job = recorded()
    asked = len(model.asked)
    found = replay(installation, job)
    assert (found.turns, found.requests, found.run_again, found.taken) == (3, 3, (1, 2, 3), ())
    assert len(model.asked) == asked == 3


def test_tool_calls_are_answered_from_the_record(installation, model, recorded):
    calls = (
        completion(tool=("add", {"a": 1, "b": 2})),
        completion(tool=("picky", {"room": "a long one"}), call="c2"),
    )
    job = recorded(answers=(*calls, "Done."), turns=1)
    asked = len(model.asked)
    found = replay(installation, job)
    assert (found.requests, found.tool_calls, len(model.asked)) == (3, 2, asked)


@pytest.mark.long
def test_tools_of_servers_are_answered_without_the_server(make_installation, model, tmp_path, agents):
    server = SUPPORT / "servers" / "tools" / "mcp_server.py"
    mcp = f'\n[mcp.rooms]\ncommand = ["{sys.executable}", "{server}"]\n'
    registry = agents().replace('"picky"]', '"picky", "rooms"]') + mcp
    installation = make_installation(registry)
    model.answers(completion(tool=("rooms_book", {"room": "R1"})), completion("Booked."))
    job = installation.submit("round_robin", PAIR, stop=MaxTurns(1))
    installation.work()
    (tmp_path / "agents.toml").write_text(registry.replace(str(server), "/nowhere.py"))
    assert replay(installation, job).tool_calls == 1


@pytest.mark.parametrize(
    ("turns", "follow", "seen"),
    [
        (2, lambda job: job.continue_with("And now?"), "Two."),
        (3, lambda job: job.fork(at_turn=2), "One."),
    ],
    ids=["continued", "forked"],
)
def test_following_session_is_replayed_with_its_history(installation, model, recorded, turns, follow, seen):
    first = recorded(turns=turns)
    model.answers(completion("Other."), completion("Other."))
    second = follow(installation.client.get_job(first.id))
    installation.work()
    asked = len(model.asked)
    assert seen in str(model.asked[-1])
    assert (replay(installation, second).requests, len(model.asked)) == (2, asked)


def test_replay_reads_an_agents_file_with_sessions(make_installation, model, agents, tmp_path):
    (tmp_path / "panel.yaml").write_text(PANEL)
    installation = make_installation(agents() + '\n[agents.panel]\nkind = "session"\nfile = "panel.yaml"\n')
    model.answers(completion("One."))
    job = installation.submit("round_robin", PAIR, stop=MaxTurns(1))
    installation.work()
    assert replay(installation, job).requests == 1


@pytest.mark.parametrize("summary", ["true", "false"])
def test_cut_dialog_is_replayed(make_installation, model, agents, summary):
    registry = agents(model='stub"\ncontext_tokens = 40\nrequest_timeout_s = "30')
    registry = registry.replace('request_timeout_s = "30"', "request_timeout_s = 30")
    installation = make_installation(
        registry.replace("structured = false", f"structured = false\nsummary = {summary}")
    )
    model.answers(completion("Words that take a lot of room in the window of the model. " * 2))
    job = installation.submit("round_robin", PAIR, stop=MaxTurns(6), options=ModeOptions(repetition="ignore"))
    installation.work()
    asked = len(model.asked)
    assert (asked > 6) == (summary == "true")
    assert replay(installation, job).requests == len(model.asked) == asked


def test_replay_changes_no_key(installation, recorded):
    job = recorded()
    client = installation.runtime.store.client

    def stored():
        return {key: client.dump(key) for key in client.keys(f"symposia:{{{job.id}}}:*")}

    before = stored()
    replay(installation, job)
    assert stored() == before


def test_replay_needs_no_api_key(installation, model, recorded, tmp_path):
    job = recorded()
    text = (tmp_path / "agents.toml").read_text()
    (tmp_path / "agents.toml").write_text(text.replace("base_url", 'api_key_env = "NOT_SET"\nbase_url'))
    assert replay(installation, job).requests == 3


def test_answers_of_people_are_taken_from_the_record(installation, model, recorded):
    job = recorded({"ann": "texting", "bob": "human"}, turns=3, people=["bob"])
    job.reply("bob", "I am a person.")
    installation.work()
    found = replay(installation, job)
    assert (found.turns, found.taken, found.run_again) == (3, (2,), (1, 3))


def test_decision_of_a_person_is_read_again(installation, model, recorded):
    job = recorded(
        {"ann": "human", "bob": "texting"},
        mode="orchestrated",
        people=["ann"],
        options=ModeOptions(orchestrator="ann"),
        turns=9,
    )
    job.reply("ann", "NEXT: bob\nINSTRUCTION bob: be quick")
    installation.work()
    job.reply("ann", "DONE: enough")
    installation.work()
    assert job.result().reason == "satisfied"
    assert replay(installation, job).run_again == (2,)


def test_corrected_answer_is_replayed_with_its_first_version(installation, model, recorded):
    loose, clean = "- [TENSION T1]: Loose, and [RESOLVED T1", "[TENSION T01: Loose]"
    job = recorded(answers=(loose, clean), turns=1, protocol="alignment")
    assert replay(installation, job).requests == len(model.asked) == 2


def test_required_output_is_asked_for_again_from_the_record(installation, model, recorded):
    schema = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}
    job = recorded(answers=("no JSON", '{"n": 1}'), turns=1, output=schema)
    assert job.result().output == {"n": 1}
    assert replay(installation, job).requests == len(model.asked) == 2


def test_question_and_answer_are_part_of_the_record(installation, model, recorded):
    job = recorded(
        {"ann": "texting", "bob": "human"}, answers=("ASK bob: May I?", "I did."), turns=1, people=["bob"]
    )
    job.reply("bob", "You may.")
    installation.work()
    assert replay(installation, job).run_again == (1,)


def test_python_agent_keeps_its_recorded_outcome(installation, recorded):
    job = recorded({"ann": "caller", "bob": "texting"})
    python_agents.calls.clear()
    assert replay(installation, job).taken == (1, 3)
    assert python_agents.calls == []


def test_python_agent_runs_again_on_request(installation, recorded, change_agents):
    job = recorded({"ann": "caller", "bob": "texting"})
    assert replay(installation, job, rerun=["ann"]).taken == ()
    change_agents(callable="renamed")
    assert difference(installation, job, rerun=["ann"]) == (
        "turn 1 (ann) differs from the record: message, line 1: recorded 'I am ann.', now 'It is me, ann.'"
    )


def test_skipped_turn_keeps_its_recorded_outcome(installation, model, recorded):
    policy = FailurePolicy(attempts=1, then=AfterRetries.SKIP)
    job = recorded(answers=(refusal(401, "no"), "Two."), policy=policy)
    assert replay(installation, job).taken == (1,)


def test_cancelled_session_is_replayed_up_to_its_end(installation, model, recorded):
    job = recorded({"ann": "texting", "bob": "human"}, people=["bob"])
    job.cancel("no time")
    assert replay(installation, job).turns == 1


def test_running_session_is_replayed_up_to_now(installation, model, recorded):
    job = recorded({"ann": "texting", "bob": "human"}, people=["bob"])
    assert replay(installation, job).turns == 1
    job.cancel()


# -- differences ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("bob", "changed", "turn", "lines"),
    [
        (
            "texting",
            {"instructions": "You are verbose."},
            "turn 1 (ann)",
            r"instructions, line \d+: recorded 'You are brief.', now 'You are verbose.'.*",
        ),
        ("texting", {"model": "other"}, "turn 1 (ann)", "model: recorded 'stub', now 'other'"),
        (
            "reader",
            {"reply": "I heard {last}"},
            "turn 2 (bob)",
            "message, line 1: recorded 'I read One.', now 'I heard One.'",
        ),
    ],
    ids=["instructions", "model", "script"],
)
def test_change_of_an_agent_differs_at_its_line(
    installation, recorded, change_agents, bob, changed, turn, lines
):
    job = recorded({"ann": "texting", "bob": bob})
    change_agents(**changed)
    expected = re.escape(f"{turn} differs from the record: ") + lines
    assert re.fullmatch(expected, difference(installation, job), re.DOTALL)


def test_agent_that_is_no_model_any_more_differs(installation, recorded, tmp_path):
    job = recorded()
    (tmp_path / "agents.toml").write_text('[agents.texting]\nkind = "scripted"\nreplies = ["One."]\n')
    assert (
        difference(installation, job)
        == "turn 1 (ann) differs from the record: model requests of agent 'texting': recorded 1, now 0"
    )


def test_changed_planner_differs_at_the_turn(installation, recorded, monkeypatch):
    job = recorded()
    mode = round_robin.MODE
    reverse = type(mode)(**{**vars_of(mode), "plan": reversed_plan(mode.plan)})
    monkeypatch.setattr("symposia.tasks.planning.decide.mode_of", lambda _mode: reverse)
    assert difference(installation, job) == (
        "turn 0 differs from the record: the plan of turn 1: participant: recorded 'ann', now 'bob'"
    )


def vars_of(mode):
    return {name: getattr(mode, name) for name in mode.__dataclass_fields__}


def reversed_plan(plan):
    def planned(view):
        step = plan(view)
        names = dict(zip(view.ids(), reversed(view.ids()), strict=True))
        turns = tuple(it.model_copy(update={"participant": names[it.participant]}) for it in step.turns)
        return step.model_copy(update={"turns": turns})

    return planned


def test_plans_are_not_compared_if_the_roster_changed(installation, model, recorded):
    job = recorded({"ann": "texting", "bob": "human"}, people=["bob"])
    job.add_participant("cid", "reader")
    job.reply("bob", "I am a person.")
    installation.work()
    found = replay(installation, job)
    assert not found.plan_compared
    assert (found.run_again, found.taken) == ((1, 3), (2,))


# -- what can be replayed -------------------------------------------------------------------------


def test_session_that_was_not_recorded_is_refused(make_installation, model):
    installation = make_installation(record_calls=False)
    job = installation.submit("round_robin", PAIR, stop=MaxTurns(1))
    installation.work()
    with pytest.raises(
        NotRecorded, match=f"session '{job.id}' was not recorded: submit sessions with record=True"
    ):
        replay(installation, job)
    assert RecordingStore(installation.runtime.store.client).read_all(job.id) == {}


def test_rerun_of_a_stranger_is_refused(installation, recorded):
    job = recorded()
    with pytest.raises(InvalidInput, match="rerun: must be the id of a participant: ann, bob"):
        replay(installation, job, rerun=["zoe"])


def test_record_holds_no_secrets(installation, model, recorded):
    job = recorded(answers=("The key is sk-abcdefghij, the URL is http://u:pass@host/.",), turns=1)
    (record,) = RecordingStore(installation.runtime.store.client).read_all(job.id).values()
    assert "sk-abcdefghij" not in record
    assert "pass@" not in record
    assert replay(installation, job).run_again == (1,)

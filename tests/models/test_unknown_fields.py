"""Unknown fields are named with the nearest known one, and durations take units, wherever data is read."""

from __future__ import annotations

import pytest

from symposia import Deadline, InvalidInput
from symposia.agents.registry.agents_file import read_agents_file
from symposia.client.submitting import read_session
from symposia.config.settings import load_settings
from symposia.models.errors import RegistryError
from symposia.models.sessions.submission import Submission
from symposia.reviews.delivery.destinations import Destinations

ROOM = {"title": "Doors", "purpose": "choose a door", "mode": "round_robin", "participants": ["ada"]}
ANN = {"participant_id": "ada"}


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        (
            {"particpants": ["ada"], "participants": ...},
            "particpants: is not a known field, did you mean participants?",
        ),
        ({"policie": {}}, "policie: is not a known field, did you mean policies?"),
        (
            {"policy": {"timeout_s": 5}},
            "policy.timeout_s: is not a known field, did you mean turn_timeout_s?",
        ),
        (
            {"policies": {"ada": {"attemps": 5}}},
            "policies.ada.attemps: is not a known field, did you mean attempts?",
        ),
        (
            {"options": {"agregator": "ada"}},
            "options.agregator: is not a known field, did you mean aggregator?",
        ),
        ({"limits": {"turn_token": 5}}, "limits.turn_token: is not a known field, did you mean turn_tokens?"),
        ({"stop": {"max_turn": 5}}, "stop.max_turn: is not a stop condition, did you mean max_turns?"),
        (
            {"stop": {"text": {"text": "DONE", "bye": "ada"}}},
            "stop.text.bye: is not a known field, did you mean by?",
        ),
        (
            {"agents": {"ada": {"agent": "ada", "wait": {"deadline": 5}}}},
            "agents.ada.wait.deadline: is not a known field, did you mean deadline_s?",
        ),
        (
            {"participants": [{**ANN, "agnt": "echo"}]},
            "participants[0].agnt: is not a known field, did you mean agent?",
        ),
        ({"items": [{"txt": "one"}]}, "options.items[0].txt: is not a known field, did you mean text?"),
    ],
)
def test_unknown_field_of_a_session_is_named(changes, said):
    document = {name: it for name, it in {**ROOM, **changes}.items() if it is not ...}
    with pytest.raises(InvalidInput) as refused:
        Submission.from_document(document)
    assert str(refused.value).startswith(said)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('[agent.a]\nkind = "llm"', "[agent] is not a known field, did you mean agents?"),
        (
            '[agents.a]\nkind = "llm"\nmodle = "local"',
            "[agents.a] modle: is not a known field, did you mean model?",
        ),
        (
            '[agents.a]\nkind = "python"\ncallable = "a:b"\nmodle = "local"',
            "[agents.a] modle: is not a known field (got",
        ),
        (
            '[agents.a]\nkind = "human"\nremind_after = [5]',
            "[agents.a] remind_after: is not a known field, did you mean remind_after_s?",
        ),
    ],
)
def test_unknown_field_of_the_agents_file_is_named(tmp_path, text, said):
    (tmp_path / "agents.toml").write_text(text)
    with pytest.raises(RegistryError) as refused:
        read_agents_file(tmp_path / "agents.toml")
    assert said in str(refused.value)


def test_unknown_field_of_the_deliveries_file_is_named(tmp_path):
    (tmp_path / "deliveries.toml").write_text('[team]\nkind = "folder"\nfoldr = "/srv"\n')
    with pytest.raises(InvalidInput, match=r"team.foldr: is not a known field, did you mean folder\?"):
        Destinations.load(tmp_path / "deliveries.toml", getenv=lambda _: None)


def test_unknown_setting_is_named(tmp_path, monkeypatch):
    (tmp_path / "symposia.toml").write_text("turn_timeout = 5\n")
    monkeypatch.setenv("SYMPOSIA_CONFIG", str(tmp_path / "symposia.toml"))
    with pytest.raises(InvalidInput, match=r"did you mean turn_timeout_s\?"):
        load_settings()


def test_unknown_argument_of_a_session_table_is_named():
    with pytest.raises(InvalidInput, match=r"did you mean messages\?"):
        read_session({"collab": ROOM, "mesages": []}, load_settings())


def test_durations_take_units(tmp_path, monkeypatch):
    session = {
        **ROOM,
        "policy": {"turn_timeout_s": "1h30m", "backoff_s": 5},
        "stop": {"deadline_s": "10m"},
        "agents": {"ada": {"agent": "ada", "wait": {"deadline_s": "2d", "remind_after_s": ["90s"]}}},
    }
    read = Submission.from_document(session)
    assert (read.policy.turn_timeout_s, read.policy.backoff_s, read.stop) == (5_400, 5, Deadline(600))
    assert (read.agents["ada"].wait.deadline_s, read.agents["ada"].wait.remind_after_s) == (172_800, (90,))
    monkeypatch.setenv("SYMPOSIA_TURN_TIMEOUT_S", "10m")
    assert load_settings(lease_s="1m", retention_s="1w").model_dump(
        include={"turn_timeout_s", "lease_s", "retention_s"}
    ) == {
        "turn_timeout_s": 600,
        "lease_s": 60,
        "retention_s": 604_800,
    }
    (tmp_path / "agents.toml").write_text('[agents.a]\nkind = "human"\ndeadline_s = "10m"\n')
    assert read_agents_file(tmp_path / "agents.toml").agents["a"].deadline_s == 600


@pytest.mark.parametrize("given", ["soon", "10 minutes", "", "m"])
def test_text_that_is_no_duration_is_refused(given):
    with pytest.raises(InvalidInput, match="must be a duration such as 30s, 15m, 1h30m"):
        Submission.from_document({**ROOM, "policy": {"backoff_s": given}})

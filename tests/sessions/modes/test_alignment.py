"""Alignment sessions: they end when everyone has converged, and leave a document that lints clean."""

from __future__ import annotations

import pytest

from live import REGISTRY, result_of
from stub_agents.alignment import EXPERTS
from symposia.alignment.document import parse, render, summary
from symposia.alignment.transcript import lint_transcript
from symposia.models.errors import InvalidInput
from symposia.models.sessions.stop_conditions import MaxRounds

pytestmark = pytest.mark.long

ALIGNMENT = "".join(
    f'\n[agents.{name}]\nkind = "python"\ncallable = "stub_agents.alignment:{name}"\nwindow = 1000\n'
    for name in ("expert", "stubborn", "sloppy", "judge")
)


@pytest.fixture
def panel(installation):
    (installation.folder / "agents.toml").write_text(REGISTRY + ALIGNMENT)
    installation.start_worker()

    def submit(mode, agent, **options):
        agents = dict.fromkeys(EXPERTS, agent) | options.pop("more", {})
        return installation.submit(mode, agents, protocol="alignment", **options)

    return submit


def test_five_experts_converge_with_a_clean_transcript(panel, checked):
    job = panel("round_robin", "expert", stop=MaxRounds(9))
    result = result_of(job)
    assert (result.reason, result.rounds) == ("converged", 3)
    checked(job, result)

    ledger = job.ledger()
    assert [it.id for it in ledger.tensions] == ["T01", "T02", "T03", "T04", "T05"]
    assert {change.state.value for it in ledger.tensions for change in it.changes} == {
        "open",
        "addressed",
        "resolved",
    }
    assert [(it.round, it.new_perspectives, it.open_tensions) for it in ledger.rounds] == [
        (0, 5, 5),
        (1, 0, 0),
        (2, 0, 0),
    ]

    text = job.transcript()
    assert lint_transcript(text) == []
    assert render(parse(text)) == text
    assert "Judge" not in text
    found = summary(parse(text))
    assert [len(it["agents"]) for it in found["rounds"]] == [5, 5, 5]
    assert {it["state"] for it in found["tensions"]} == {"resolved"}
    assert [it["ids"] for it in found["markers"] if it["type"] == "tension"] == [
        [f"T{n:02}"] for n in range(1, 6)
    ]


def test_experts_without_agreement_stop_at_max_rounds(panel):
    job = panel("round_robin", "stubborn", stop=MaxRounds(3))
    result = result_of(job)
    assert (result.reason, result.rounds) == ("max_rounds", 3)
    assert len(job.ledger().open_tensions) == 15
    assert lint_transcript(job.transcript()) == []


def test_judge_scores_the_experts_and_totals_add_up(panel):
    job = panel(
        "orchestrated", "expert", more={"lead": "judge"}, roles={"lead": "orchestrator"}, stop=MaxRounds(9)
    )
    result = result_of(job)
    assert result.reason == "converged"
    text = job.transcript()
    assert lint_transcript(text) == []
    (board,) = summary(parse(text))["scoreboards"]
    assert (board["total"], [row["total"] for row in board["rows"]]) == (45, [9] * 5)
    roles = {it["name"]: it["role"] for it in summary(parse(text))["panel"]}
    assert roles == dict.fromkeys(EXPERTS, "Expert")
    assert "| 💙 Judge | orchestrator |" in text
    assert len(parse(text).judge) == 3


def test_added_participant_is_an_expert(installation):
    (installation.folder / "agents.toml").write_text(REGISTRY + ALIGNMENT)
    agents = dict.fromkeys(EXPERTS, "stubborn")
    job = installation.submit("round_robin", agents, protocol="alignment", stop=MaxRounds(3))
    job.add_participant({"participant_id": "gale", "role_id": "critic"}, "stubborn")
    installation.start_worker()
    result_of(job)
    text = job.transcript()
    assert lint_transcript(text) == []
    assert "| 🧁 gale | critic |" in text
    assert "Judge" not in text
    assert "gale" in parse(text).rounds[-1].agents


def test_turn_with_findings_is_returned_once(panel):
    job = panel("round_robin", "sloppy", stop=MaxRounds(2))
    result = result_of(job)
    assert result.ok
    assert {message.content for message in result.dialog.messages if message.turn_number <= 5} == {
        "[TENSION T01: Loose]"
    }


def test_session_without_alignment_has_no_transcript(installation):
    installation.start_worker()
    job = installation.submit("round_robin", {"ann": "say", "bob": "say"}, stop=MaxRounds(1))
    result_of(job)
    with pytest.raises(InvalidInput, match="must be `alignment`"):
        job.transcript()


def test_unknown_protocol_is_refused(installation):
    with pytest.raises(InvalidInput, match="protocol: must be one of alignment"):
        installation.submit("round_robin", {"ann": "say", "bob": "say"}, protocol="harmony")

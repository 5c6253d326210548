"""The transcript of any session is read back unchanged."""

from __future__ import annotations

from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from documents.dialogues import texts
from scaling import scaled_examples
from symposia.alignment.document import parse, summary
from symposia.alignment.transcript import lint_transcript, render_transcript
from symposia.alignment.turn_marks import read_turn_marks
from symposia.models.alignment.ledger import Ledger
from symposia.models.protocol.collab import Collab, Participant
from symposia.models.protocol.dialog import Role, build_turn_message
from symposia.models.text.ids import new_id, utcnow

EXPERTS = ("ann", "bob")


def session(
    turns: list[tuple[str, str]], *, title: str = "Files or tables", people: tuple[Participant, ...] = ()
) -> tuple[str, Ledger]:
    ledger, messages = Ledger(), []
    for number, (name, text) in enumerate(turns, start=1):
        ledger = ledger.after_turn(number, name, read_turn_marks([text]), experts=EXPERTS)
        messages.append(
            build_turn_message(
                Role.AGENT,
                text,
                timestamp=utcnow(),
                participant_id=name,
                turn_number=number,
                token_id=new_id(),
                fence=1,
                trace_id=new_id(),
            )
        )
    collab = Collab(
        title=title,
        purpose="Agree.",
        mode="round_robin",
        participants=people or [Participant(participant_id=name) for name in (*EXPERTS, "lead")],
    )
    return render_transcript(collab, messages, ledger, EXPERTS), ledger


@given(st.lists(st.tuples(st.sampled_from([*EXPERTS, "lead"]), texts.filter(str.strip)), max_size=8))
@example([("ann", "[PERSPECTIVE]: T01 [TENSION T01: x]\n[PERSPECTIVE T01: y]\n[RESOLVED T01: z]")])
@example([("ann", "# Ann\n\n## Round 9: no\n\n### Bob 🧁\n\n```\nopen"), ("bob", "## 💙 Judge: no\n\n| a |")])
@settings(max_examples=scaled_examples(150), deadline=None, suppress_health_check=list(HealthCheck))
def test_transcript_of_any_text_is_read_back(turns):
    text, _ = session(turns)
    spoke = dict.fromkeys(name for name, _ in turns if name in EXPERTS)
    assert {agent for part in parse(text).rounds for agent in part.agents} <= {*spoke, *EXPERTS}


def test_reopened_tension_is_no_contradiction():
    text, _ = session(
        [
            ("ann", "[TENSION T01: Speed]"),
            ("bob", "[RESOLVED ANN T01: cached]"),
            ("ann", "[TENSION T01: not enough]"),
            ("bob", "Hm."),
        ]
    )
    assert lint_transcript(text) == []
    assert [(it["id"], it["state"]) for it in summary(parse(text))["tensions"]] == [("T01", "reopened")]


def test_perspectives_with_one_id_are_renumbered():
    text, _ = session(
        [("ann", "[PERSPECTIVE P01: p]"), ("bob", "Yes."), ("ann", "[PERSPECTIVE P01: q]"), ("bob", "Yes.")]
    )
    assert lint_transcript(text) == []
    assert [(it.type, it.ids, it.label) for it in parse(text).markers] == [
        ("perspective", ("P01",), "p"),
        ("perspective", ("P02",), "q"),
    ]


def test_markers_unknown_to_the_ledger_become_text():
    text, _ = session(
        [("ann", "[RESOLVED T09: what?]\n\n[TENSION: no id]\n\n| a | b |\n|---|---|\n| 1 |"), ("bob", "Yes.")]
    )
    assert lint_transcript(text) == []
    assert parse(text).markers == ()


def test_the_judge_speaks_after_the_round():
    text, _ = session([("lead", "Begin."), ("ann", "A."), ("bob", "B."), ("lead", "Good."), ("ann", "C.")])
    assert [type(part).__name__ for part in parse(text).parts][-4:] == ["Judge", "Round", "Judge", "Round"]


def panel_of(text: str) -> list[tuple[str, str]]:
    (panel,) = (it for it in parse(text).sections if it.title == "Expert Panel")
    return [row[:2] for row in panel.blocks[0].rows]


def test_transcript_keeps_roles_and_adds_no_judge():
    people = (Participant(participant_id="ann", role_id="architect"), Participant(participant_id="bob"))
    text, _ = session([("ann", "A."), ("bob", "B.")], people=people)
    assert panel_of(text) == [("🧁 ann", "architect"), ("🧁 bob", "Expert")]
    assert "Judge" not in text


def test_the_judge_has_a_role():
    lead = Participant(participant_id="lead", role_id="orchestrator")
    people = (*(Participant(participant_id=name, role_id=name) for name in EXPERTS), lead)
    text, _ = session([("ann", "A.")], people=people)
    assert panel_of(text) == [("💙 Judge", "orchestrator"), ("🧁 ann", "Expert"), ("🧁 bob", "Expert")]
    assert "**Participants**: 💙 Judge, 🧁 ann, 🧁 bob" in text


def test_expert_who_left_is_not_a_judge():
    text, _ = session([("ann", "A."), ("bob", "B.")], people=(Participant(participant_id="ann"),))
    assert panel_of(text) == [("🧁 ann", "Expert"), ("🧁 bob", "Expert")]
    assert [it.agents for it in parse(text).rounds] == [("ann", "bob")]


def test_experts_of_one_name_are_kept_apart():
    people = tuple(Participant(participant_id=name, display_name="Ada") for name in EXPERTS)
    text, _ = session([("ann", "A."), ("bob", "B.")], people=people)
    assert [it.agents for it in parse(text).rounds] == [("Ada", "bob")]


@given(
    st.lists(texts.filter(str.strip), min_size=3, max_size=3),
    st.lists(texts.filter(str.strip), min_size=3, max_size=3),
)
@settings(max_examples=scaled_examples(100), deadline=None, suppress_health_check=list(HealthCheck))
def test_any_role_is_read_back(roles, names):
    ids = (*EXPERTS, "lead")
    people = tuple(
        Participant(participant_id=it, role_id=role, display_name=name)
        for it, role, name in zip(ids, roles, names, strict=True)
    )
    text, _ = session([("ann", "A."), ("bob", "B."), ("lead", "C.")], people=people)
    assert [it.turns for it in parse(text).rounds]

"""Terminal output: text cannot control the terminal, and the length is known where possible."""

from __future__ import annotations

from io import StringIO

import pytest
from rich.console import Console
from rich.text import Text

from symposia.cli.common.dialog_lines import hanging
from symposia.cli.common.screen import printable
from symposia.cli.sessions.live_render import LiveView, moment_json
from symposia.cli.sessions.progress import expected_turns
from symposia.models.protocol.base import Event
from symposia.models.protocol.collab import Collab, Participant
from symposia.models.protocol.dialog import Message, Role, build_turn_message
from symposia.models.protocol.events import MapEvent, MAPEventType
from symposia.models.sessions.options import AgentBinding
from symposia.models.sessions.spec import SessionSpec
from symposia.models.sessions.stop_conditions import MaxRounds, MaxTurns, TextSeen, TokenBudget
from symposia.models.text.ids import new_id, role_uuid, utcnow
from symposia.models.turns.streaming import Delta
from symposia.state.following import SessionUpdate


def collab(mode="round_robin", names=("ann", "bob", "cyd")):
    people = [Participant(participant_id=name, display_name=name.title()) for name in names]
    return Collab(title="A talk", purpose="Talk.", mode=mode, participants=people)


def spec(stop=None):
    return SessionSpec(agents={"ann": AgentBinding(agent="echo")}, stop=stop or MaxRounds(2))


@pytest.mark.parametrize(
    ("mode", "stop", "length"),
    [
        ("round_robin", MaxRounds(2), 6),
        ("round_robin", MaxRounds(2) | MaxTurns(5) | TextSeen("x"), 5),
        ("round_robin", MaxRounds(2) & MaxTurns(5), 6),
        ("round_robin", MaxRounds(2) & TextSeen("x"), None),
        ("broadcast", MaxRounds(1), 3),
        ("orchestrated", MaxRounds(2), None),
        ("orchestrated", MaxRounds(2) | MaxTurns(9), 9),
        ("swarm", MaxTurns(10_000), None),
        ("round_robin", TokenBudget(100), None),
    ],
)
def test_session_length_is_known_from_its_limits(mode, stop, length):
    assert expected_turns(collab(mode), spec(stop)) == length


def shown(*moments: SessionUpdate | Delta, width: int = 40) -> list[str]:
    screen = Console(file=StringIO(), width=width, highlight=False, markup=False, emoji=False)
    with LiveView(screen, collab(), spec()) as view:
        for moment in moments:
            view.show(moment)
    return screen.file.getvalue().splitlines()


def turn(kind=MAPEventType.TURN_COMPLETED, *, messages=(), **result):
    payload = {
        "role_id": role_uuid("bob"),
        "turn_number": 2,
        "token_id": new_id(),
        "participant_id": "bob",
        "attempt": 1,
    }
    event = MapEvent(
        event_type=kind, session_id=new_id(), payload={**payload, **({"result": result} if result else {})}
    )
    spoken = [
        build_turn_message(
            Role.AGENT,
            text,
            timestamp=utcnow(),
            participant_id="bob",
            turn_number=2,
            token_id=new_id(),
            fence=1,
        )
        for text in messages
    ]
    return SessionUpdate(event, tuple(spoken))


def test_long_text_stays_in_its_column():
    assert shown(turn(messages=["one two three four five six seven eight"], outcome="message")) == [
        "   2 Bob    one two three four five six",
        "            seven eight",
    ]


def test_further_lines_hang_below_the_first():
    lines = hanging(Console(width=40), Text("purpose: "), Text("Find a name for the reading room. " * 2))
    assert [len(it) - len(it.lstrip()) for it in lines.plain.split("\n")] == [0, 9, 9]


def test_paragraphs_are_separated():
    assert shown(turn(messages=["one\n\ntwo"], outcome="message")) == [
        "   2 Bob    one",
        "",
        "            two",
    ]


def test_message_of_another_dialog_has_a_speaker():
    closed = turn(messages=["one"], outcome="message")
    moment = SessionUpdate(closed.event, tuple(it.as_history() for it in closed.messages))
    assert shown(moment)[0] == "     Bob    one"


def test_message_text_cannot_control_the_terminal():
    evil = "\x1b[2J\x1b]0;owned\x07 [bold]x[/bold] :smile: \u202e\u2028\r\x9b31m"
    (line,) = shown(turn(messages=[evil], outcome="message"), width=200)
    assert all(c.isprintable() for c in line)
    assert "[bold]x[/bold] :smile:" in line
    assert printable("a\tb\nc\u200b") == "a b\nc "


@pytest.mark.parametrize(
    ("result", "words"),
    [
        ({"outcome": "passed"}, "passed"),
        ({"outcome": "failed", "error": "boom", "retried": True}, "failed: boom; will retry"),
        ({"outcome": "failed", "error": "boom"}, "failed: boom"),
        ({"outcome": "skipped", "error": "boom"}, "skipped: boom"),
        ({"outcome": "expired"}, "its worker was lost; another worker retries the turn"),
        ({"outcome": "dropped"}, "dropped: the session no longer needs this turn"),
        ({"outcome": "cancelled"}, "cancelled: the session ended first"),
        ({"outcome": "message"}, "no message, only a decision"),
    ],
)
def test_turn_without_a_message_is_shown(result, words):
    assert shown(turn(**result), width=100) == [f"   2 Bob    {words}"]


def test_each_pause_is_shown_once():
    created, active, paused = (
        SessionUpdate(Event(event_type=f"session.{it}", source="collab"))
        for it in ("created", "active", "suspended")
    )
    assert shown(created, active, paused, active, width=80) == [
        "     suspended; `symposia resume` continues it",
        "     resumed",
    ]


def test_opening_messages_are_from_the_user():
    event = MapEvent(event_type=MAPEventType.SESSION_STARTED, session_id=new_id(), payload={})
    assert shown(SessionUpdate(event, (Message(role=Role.USER, content="Hello, you two."),))) == [
        "     user   Hello, you two."
    ]


def test_live_text_is_shown_until_it_is_written():
    screen = Console(file=StringIO(), width=60, height=30, force_terminal=True, markup=False)
    said = Delta(
        turn_number=2, participant_id="bob", attempt=1, token_id="t", offset=0, text="I th[i]nk \x1b[31m"
    )
    with LiveView(screen, collab(), spec()) as view:
        view.show(said)
        drawn = "\n".join(str(line) for line in view.render_drafts())
        assert "   2 Bob    I th[i]nk" in drawn
        assert "\x1b" not in drawn
        view.show(turn(messages=["I think so."], outcome="message"))
        assert not list(view.render_drafts())


def test_long_live_text_shows_its_end():
    screen = Console(file=StringIO(), width=60, height=30, force_terminal=True, markup=False)
    text = " ".join(f"word{number}" for number in range(500))
    with LiveView(screen, collab(), spec()) as view:
        view.show(Delta(turn_number=2, participant_id="bob", attempt=1, token_id="t", offset=0, text=text))
        (drawn,) = view.render_drafts()
    assert "word499" in str(drawn)
    assert len(str(drawn).splitlines()) == 6


def test_live_text_needs_a_terminal():
    said = Delta(turn_number=2, participant_id="bob", attempt=1, token_id="t", offset=0, text="I think")
    assert shown(said, turn(messages=["I think so."], outcome="message")) == ["   2 Bob    I think so."]


def test_live_text_is_data_for_programs():
    said = Delta(turn_number=2, participant_id="bob", attempt=1, token_id="t", offset=0, text="I think")
    assert moment_json(said)["delta"]["text"] == "I think"


def test_hit_of_a_guard_is_a_line():
    hit = Event(
        event_type="guard.hit",
        source="collab",
        data={
            "guard": "short",
            "when": "after",
            "action": "ask_again",
            "reason": "must be short",
            "turn_number": 2,
            "participant_id": "bob",
        },
    )
    assert shown(SessionUpdate(hit), width=90) == [
        "   2 Bob    guard short (after): must be short; asked again",
    ]


def test_a_turn_that_repeats_messages_is_a_line():
    event = Event(
        event_type="turn.repeats", source="collab", data={"turn_number": 2, "participant_id": "bob"}
    )
    assert shown(SessionUpdate(event), width=90) == [
        "   2 Bob    brings nothing new; the turn counts as a pass"
    ]

"""Task trees drawn from MAP events: edges, groups, lost turns, and escaped text."""

from __future__ import annotations

import shutil
import subprocess
from itertools import count

import pytest
from hypothesis import given
from hypothesis import strategies as st

from symposia.models.errors import CorruptSession
from symposia.models.protocol.events import MapEvent, MAPEventType
from symposia.models.text.ids import new_id, role_uuid
from symposia.tasks.sessions.rendering import GraphFormat, draw
from symposia.tasks.sessions.task_tree import GrantOutcome, read_tree

SESSION = new_id()


class Trace:
    """Events as a session writes them."""

    def __init__(self, title: str = "A talk", mode: str = "swarm") -> None:
        self.events = [self._event(MAPEventType.SESSION_STARTED, mode=mode, title=title)]
        self._fences = count(1)

    def speak(
        self, task: str, parent: str, turn: int, who: str, outcome: str | None = "message", **result
    ) -> None:
        fence = next(self._fences)
        payload = {
            "role_id": role_uuid(who),
            "turn_number": turn,
            "token_id": new_id(),
            "participant_id": who,
            "fence": fence,
            "attempt": result.pop("attempt", 1),
        }
        self.events.append(
            self._event(MAPEventType.TURN_DISPATCHED, **payload, task_id=task, parent_id=parent)
        )
        if outcome:
            done = {"outcome": outcome, "usage": {"input_tokens": 3, "output_tokens": 4}, **result}
            self.events.append(self._event(MAPEventType.TURN_COMPLETED, **payload, result=done))

    def end(self, reason: str) -> None:
        self.events.append(self._event(MAPEventType.SESSION_COMPLETED, status="completed", reason=reason))

    @staticmethod
    def _event(kind: MAPEventType, **payload) -> MapEvent:
        return MapEvent(event_type=kind, session_id=SESSION, payload=payload)


@pytest.fixture
def story() -> Trace:
    """Ann; then Bob and Cyd in parallel, with Bob's worker lost once; Ann after Bob."""
    trace = Trace()
    trace.speak("a", SESSION, 1, "ann")
    trace.speak("b", "a", 2, "bob", "expired")
    trace.speak("c", "a", 3, "cyd", "failed", error="out of ideas", retried=True)
    trace.speak("b2", "a", 2, "bob", attempt=2)
    trace.speak("c2", "a", 3, "cyd", "passed", attempt=2)
    trace.speak("d", "b2", 4, "ann")
    trace.end("board_empty")
    return trace


def test_text_form_indents_branches(story):
    assert draw(story.events, GraphFormat.TEXT).splitlines() == [
        "swarm: A talk · completed: board_empty",
        "● 1 ann  message, 7 tokens",
        "├─✗ 2 bob  expired, 7 tokens  (side by side)",
        "├─✗ 3 cyd  failed, 7 tokens, out of ideas  (side by side)",
        "├─○ 3 cyd  passed, attempt 2, 7 tokens  (side by side)",
        "├─● 2 bob  message, attempt 2, 7 tokens  (side by side)",
        "● 4 ann  message, 7 tokens",
    ]


def test_mermaid_has_every_node_edge_and_group(story):
    drawn = draw(story.events, GraphFormat.MERMAID).splitlines()
    assert drawn[0] == "flowchart TD"
    assert [line.strip() for line in drawn if "-->" in line] == [
        *("root --> t0", "t0 --> t1", "t0 --> t2", "t0 --> t3", "t0 --> t4", "t3 --> t5")
    ]
    assert '    t1["2 bob<br/>expired, 7 tokens"]:::lost' in drawn
    group = drawn[drawn.index('  subgraph group0["side by side"]') :]
    assert [line.split("[")[0].strip() for line in group[1:5]] == ["t1", "t2", "t3", "t4"]


def test_dot_is_understood_by_graphviz(story):
    drawn = draw(story.events, GraphFormat.DOT)
    assert drawn.count("->") == 6
    assert "subgraph cluster_0" in drawn
    if shutil.which("dot"):
        subprocess.run(["dot", "-Tsvg"], input=drawn, text=True, check=True, stdout=subprocess.DEVNULL)


def test_running_turn_is_drawn_as_such():
    trace = Trace()
    trace.speak("a", SESSION, 1, "ann", None)
    assert draw(trace.events, GraphFormat.TEXT) == "swarm: A talk · running\n… 1 ann  speaking"


def test_turns_without_a_planner_are_below_the_root():
    trace = Trace()
    trace.speak("a", SESSION, 1, "ann")
    trace.speak("b", new_id(), 2, "bob")
    assert read_tree(trace.events).parent_of() == [None, None]


def test_unknown_outcome_is_reported_as_corrupt():
    trace = Trace()
    trace.speak("a", SESSION, 1, "ann", "sung")
    with pytest.raises(CorruptSession, match=r"events of session .* unknown outcome 'sung'"):
        read_tree(trace.events)


def test_long_session_is_drawn_without_recursion():
    trace = Trace(mode="round_robin")
    for turn in range(1, 2_001):
        trace.speak(f"t{turn}", f"t{turn - 1}" if turn > 1 else SESSION, turn, "ann")
    lines = draw(trace.events, GraphFormat.TEXT).splitlines()
    assert len(lines) == 2_001
    assert lines[-1] == "● 2000 ann  message, 7 tokens"


def test_longer_branch_is_drawn_last():
    trace = Trace()
    trace.speak("a", SESSION, 1, "ann")
    trace.speak("b", "a", 2, "bob")
    trace.speak("c", "a", 3, "cyd")
    trace.speak("d", "b", 4, "dan")
    trace.speak("e", "c", 5, "eve")
    trace.speak("f", "e", 6, "fay")
    lines = draw(trace.events, GraphFormat.TEXT).splitlines()[1:]
    assert [line.split("  ")[0] for line in lines] == [
        "● 1 ann",
        "├─● 2 bob",
        "│ ● 4 dan",
        "├─● 3 cyd",
        "● 5 eve",
        "● 6 fay",
    ]


def test_last_of_several_leaves_closes_the_branches():
    trace = Trace(mode="broadcast")
    for turn, name in enumerate(("ann", "bob", "cyd"), start=1):
        trace.speak(f"t{turn}", SESSION, turn, name)
    lines = draw(trace.events, GraphFormat.TEXT).splitlines()[1:]
    assert [line.split("  ")[0] for line in lines] == ["├─● 1 ann", "├─● 2 bob", "└─● 3 cyd"]


@given(title=st.text(), who=st.text(min_size=1), error=st.text())
def test_label_text_cannot_break_out(title, who, error):
    trace = Trace(title=title)
    trace.speak("a", SESSION, 1, who, "failed", error=error)
    mermaid, dot, text = (draw(trace.events, form) for form in GraphFormat)
    assert len(mermaid.splitlines()) == 5
    assert mermaid.count('"') == 4
    assert dot.replace("\\\\", "").replace('\\"', "").count('"') == 8
    assert len(dot.splitlines()) == 6
    assert len(text.split("\n")) == 2
    assert all(c.isprintable() or c == "\n" for c in mermaid + dot + text)


@given(
    st.lists(
        st.tuples(
            st.integers(0, 30),
            st.integers(1, 5),
            st.sampled_from([o.value for o in GrantOutcome if o != "speaking"]),
        ),
        max_size=30,
    )
)
def test_every_node_is_drawn_once(shape):
    trace = Trace()
    for index, (parent, turn, outcome) in enumerate(shape):
        trace.speak(
            f"t{index}", f"t{parent % index}" if index and parent else SESSION, turn, f"p{index}", outcome
        )
    lines = draw(trace.events, GraphFormat.TEXT).splitlines()[1:]
    drawn = [
        next(word for word in line.split() if word.startswith("p") and word[1:].isdigit()) for line in lines
    ]
    assert sorted(drawn) == sorted(f"p{index}" for index in range(len(shape)))
    assert draw(trace.events, GraphFormat.MERMAID).count("-->") == len(shape)

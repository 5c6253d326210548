"""Live output in the page: the same text as for every other reader, and no words of a lost attempt."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from processes.node import run_module
from symposia.dashboard.views.session.transcript import delta_json
from symposia.models.turns.streaming import Delta, Drafts

ADD = """
  const drafts = new module.Drafts();
  for (const piece of it) drafts.add(piece);
  return [...drafts.byTurn.values()].map((draft) => [draft.turn, draft.text]).filter(([, text]) => text);
"""


def delta(offset: int, text: str, *, turn: int = 1, attempt: int = 1) -> Delta:
    return Delta(
        turn_number=turn, participant_id="ann", attempt=attempt, token_id="t", offset=offset, text=text
    )


@st.composite
def outputs(draw) -> list[Delta]:
    """Pieces of a few attempts, some of them lost, restarted or sent again."""
    pieces: list[Delta] = []
    for turn in range(1, draw(st.integers(1, 2)) + 1):
        for attempt in range(1, draw(st.integers(1, 3)) + 1):
            offset = 0
            for text in draw(st.lists(st.text("abc é\U0001f600", min_size=1, max_size=4), max_size=5)):
                kind = draw(st.sampled_from(["sent", "sent", "sent", "lost", "twice"]))
                piece = delta(offset, text, turn=turn, attempt=attempt)
                pieces += {"sent": [piece], "lost": [], "twice": [piece, piece]}[kind]
                offset += len(text)
    return pieces


def shown(pieces: list[Delta]) -> list[Any]:
    drafts = Drafts()
    for piece in pieces:
        drafts.add(piece)
    return [[draft.turn_number, draft.text] for draft in drafts]


def test_page_assembles_output_as_every_reader():
    drawn: list[list[Delta]] = []

    @given(outputs())
    def draw(pieces):
        drawn.append(pieces)

    draw()
    cases = [[delta_json(piece) for piece in pieces] for pieces in drawn]
    for pieces, texts in zip(drawn, run_module("session/drafts.js", ADD, cases), strict=True):
        assert sorted(texts) == shown(pieces)


def test_discarded_output_is_gone():
    pieces = [delta(0, "lost words"), delta(0, "")]
    ((),) = run_module("session/drafts.js", ADD, [[delta_json(piece) for piece in pieces]])
    again = [*pieces, delta(0, "again")]
    assert run_module("session/drafts.js", ADD, [[delta_json(piece) for piece in again]]) == [[[1, "again"]]]

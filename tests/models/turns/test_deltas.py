"""Assembling streamed output: lost, late or repeated deltas never mix two attempts."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from symposia.models.turns.streaming import MISSED, Delta, Drafts


def delta(text, offset, *, attempt=1, turn=1):
    return Delta(
        turn_number=turn, participant_id="ann", attempt=attempt, token_id="t", offset=offset, text=text
    )


def texts(drafts):
    return [draft.text for draft in drafts]


@st.composite
def spoken(draw):
    """A text and the pieces it was published in."""
    words = draw(
        st.lists(st.text(st.characters(codec="utf-8"), min_size=1, max_size=5), min_size=1, max_size=8)
    )
    ends = [sum(map(len, words[:n])) for n in range(len(words))]
    return "".join(words), [delta(word, at) for word, at in zip(words, ends, strict=True)]


@given(spoken())
def test_pieces_in_order_are_the_text(said):
    text, pieces = said
    drafts = Drafts()
    for piece in pieces:
        drafts.add(piece)
    assert texts(drafts) == [text]


@given(spoken(), st.data())
def test_repeated_pieces_add_nothing(said, data):
    text, pieces = said
    drafts = Drafts()
    for piece in pieces:
        drafts.add(piece)
        again = data.draw(st.sampled_from(pieces[1:] or pieces))
        if again.offset and again.offset <= piece.offset:
            drafts.add(again)
    assert texts(drafts) == [text]


@given(spoken(), st.data())
def test_late_reader_sees_that_the_start_is_missing(said, data):
    text, pieces = said
    first = data.draw(st.integers(0, len(pieces) - 1))
    drafts = Drafts()
    for piece in pieces[first:]:
        drafts.add(piece)
    assert texts(drafts) == [text if first == 0 else MISSED + text[pieces[first].offset :]]


@given(spoken(), spoken(), st.integers(0, 8))
def test_new_attempt_replaces_the_old_one(old, new, when):
    (_, lost), (text, pieces) = old, new
    drafts = Drafts()
    for piece in lost[:when]:
        drafts.add(piece)
    for piece in pieces:
        drafts.add(piece.model_copy(update={"attempt": 2}))
        for late in lost[when:]:
            drafts.add(late)
    assert texts(drafts) == [text]


def test_attempt_may_restart_itself():
    drafts = Drafts()
    for piece in (delta("lost", 0), delta("found", 0), delta(" it", 5)):
        drafts.add(piece)
    assert texts(drafts) == ["found it"]


def test_discarded_text_is_withdrawn():
    drafts = Drafts()
    drafts.add(delta("lost", 0))
    drafts.add(delta("", 0))
    assert texts(drafts) == []


def test_message_replaces_only_its_own_draft():
    drafts = Drafts()
    drafts.add(delta("one", 0, turn=2))
    drafts.add(delta("two", 0, turn=1))
    assert texts(drafts) == ["two", "one"]
    drafts.remove(1)
    drafts.remove(None)
    assert texts(drafts) == ["one"]


def test_earlier_names_of_the_methods_work():
    drafts = Drafts()
    drafts.take(delta("one", 0, turn=1))
    drafts.written(1)
    assert list(drafts) == []

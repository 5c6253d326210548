"""The size cap: what was set longest ago goes first; one parameter over it is refused."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from dialog_memory.values import after, statement, statements, written
from symposia.memory.capping import MIN_BYTES, cap_learned, cap_state, oversized_parameters
from symposia.memory.merge import Statement, WriteMetadata, with_write_metadata
from symposia.memory.wire_form import read_state
from symposia.models.memory.learned import Learned


def test_memory_within_the_cap_is_unchanged():
    state = written(after(statement(1, to="London")))
    fit = cap_state(state, max_bytes=10_000)
    assert (fit.state, fit.evicted) == (state, ())


def test_least_recently_set_parameter_is_dropped_first():
    state = after(
        statement(1, "search", query="x" * 900),
        statement(2, to="y" * 900),
        statement(3, to="z" * 900, **{"from": "w" * 900}),
    )
    fit = cap_state(written(state), max_bytes=MIN_BYTES + 200)
    assert fit.evicted == ("search.query",)
    assert fit.state.values("travel").keys() == {"to", "from"}
    assert fit.state.service_memory("search").parameters == {}


def test_parameter_set_again_is_recent_again():
    state = after(
        statement(1, **{"from": "a" * 700}),
        statement(2, to="b" * 700),
        statement(3, **{"from": "c" * 700}),
        statement(4, cabin_class="d" * 700),
    )
    assert cap_state(written(state), max_bytes=MIN_BYTES + 100).evicted == ("travel.to",)


def test_bytes_are_counted_and_not_characters():
    state = written(after(statement(1, query="é" * 1_000), statement(2, to="ü" * 1_000)))
    fit = cap_state(state, max_bytes=3_000)
    assert fit.evicted == ("travel.query",)
    assert len(fit.text.encode()) <= 3_000


def test_parameter_over_the_cap_is_refused_by_name():
    it = statement(1, to="x" * 20_000, **{"from": "Nairobi"})
    assert oversized_parameters(it, max_bytes=10_000) == ("to",)
    assert oversized_parameters(it, max_bytes=100_000) == ()


def test_tombstones_are_replaced_by_an_equal_cutoff():
    names = tuple("n" * 60 + str(number) for number in range(30))
    state = written(after(statement(1, to="x" * 500), statement(2, forget=names)))
    fit = cap_state(state, max_bytes=MIN_BYTES)
    assert fit.evicted == ()
    assert fit.state.cutoff_ms == 2
    assert after(statement(2, **{names[0]: "again"}), state=fit.state).values() == {"to": "x" * 500}


def test_long_author_and_many_sessions_fit_the_cap():
    state = after(statement(1, to="x"))
    for number in range(20):
        author = "é" * 200
        state = with_write_metadata(
            state,
            WriteMetadata(
                1, mark=f"{number:012}", by=author, conversation_id=author, session=f"{number:036}"
            ),
        )
    fit = cap_state(state, max_bytes=MIN_BYTES)
    assert len(fit.text.encode()) <= MIN_BYTES


def test_learned_parameters_of_a_turn_are_capped():
    learned = Learned(
        parameters={"to": "x" * 600, "from": "y" * 600},
        inferred={"query": "z" * 600, "note": "n"},
        forget=("a",),
    )
    kept, left_out = cap_learned(learned, max_bytes=1_000)
    assert left_out == ("from", "query")
    assert kept == Learned(parameters={"to": "x" * 600}, inferred={"note": "n"}, forget=("a",))
    assert cap_learned(learned, max_bytes=10_000) == (learned, ())


big = st.builds(
    lambda at_ms, name, size: statement(at_ms, **{name: "é" * size}),
    st.integers(1, 50),
    st.sampled_from([f"p{n}" for n in range(20)]),
    st.integers(1, 450),
)


@given(st.lists(big | statements(), max_size=30))
def test_no_state_ever_exceeds_the_cap(said: list[Statement]):
    state = written(after())
    for it in said:
        if not oversized_parameters(it, max_bytes=MIN_BYTES):
            fit = cap_state(written(after(it, state=state)), max_bytes=MIN_BYTES)
            state = fit.state
            assert len(fit.text.encode()) <= MIN_BYTES
            assert read_state(fit.text) == state


@given(st.lists(statements(), max_size=6), st.lists(big, max_size=20))
def test_cap_restores_no_forgotten_value(said, pressure):
    gone = Statement("travel", 50, forget=("to",))
    state = after(*said, gone)
    before = state.service_memory("travel").parameters.get("to")
    state = cap_state(written(after(*pressure, state=state)), max_bytes=MIN_BYTES).state
    state = after(*said, state=state)
    survivor = state.service_memory("travel").parameters.get("to")
    assert survivor is None or survivor == before

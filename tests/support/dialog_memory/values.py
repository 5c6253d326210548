"""Values that tests of dialog memory are made of."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from hypothesis import strategies as st

from symposia.memory.merge import Statement, WriteMetadata, apply_statement, with_write_metadata
from symposia.models.memory.state import MemoryState, RememberedValue, Source

NAMES = ("from", "to", "departure_date", "cabin_class", "query")
SERVICES = ("travel", "search")


def remembered(at_ms: int, **values: Any) -> dict[str, RememberedValue]:
    return {name: RememberedValue(value, at_ms) for name, value in values.items()}


def statement(
    at_ms: int, service: str = "travel", *, forget: tuple[str, ...] = (), **values: Any
) -> Statement:
    return Statement(service, at_ms, remembered(at_ms, **values), forget)


def after(*statements: Statement, state: MemoryState | None = None) -> MemoryState:
    state = state or MemoryState()
    for it in statements:
        state = apply_statement(state, it)
    return state


def written(state: MemoryState, now_ms: int = 1_000) -> MemoryState:
    return with_write_metadata(state, WriteMetadata(now_ms, mark=f"w{now_ms}", by="ann", session="s1"))


def at(statement: Statement, at_ms: int) -> Statement:
    """The same words at another time."""
    parameters = {name: replace(known, at_ms=at_ms) for name, known in statement.parameters.items()}
    return replace(statement, at_ms=at_ms, parameters=parameters)


values = st.recursive(
    st.none() | st.booleans() | st.integers(-(10**9), 10**9) | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=5,
)


@st.composite
def statements(draw: st.DrawFn, *, times: st.SearchStrategy[int] | None = None) -> Statement:
    at_ms = draw(times or st.integers(1, 50))
    said = draw(st.dictionaries(st.sampled_from(NAMES), values, max_size=3))
    kind = draw(st.sampled_from([Source.SAID, Source.INFERRED]))
    parameters = {name: RememberedValue(value, at_ms, kind) for name, value in said.items()}
    forget = tuple(draw(st.lists(st.sampled_from(NAMES), max_size=2, unique=True)))
    forget_all = draw(st.sampled_from([False] * 9 + [True]))
    return Statement(draw(st.sampled_from(SERVICES)), at_ms, parameters, forget, forget_all=forget_all)


def known(state: MemoryState) -> dict[tuple[str, str], RememberedValue]:
    """Return the remembered values in a canonical order."""
    return {(service, name): it for service, name, it in state.all_parameters()}

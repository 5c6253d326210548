"""Fuzzing: documents that are nearly right, and what may come of them."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable, Iterator
from random import Random
from typing import Any, TypeVar

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from scaling import scaled_examples
from symposia.models.errors import SymposiaError

T = TypeVar("T")

#: Of a run in `make test` or `make test-all`, and of one in `make soak`.
depths = pytest.mark.parametrize(
    "examples", [scaled_examples(80), pytest.param(2_000, marks=pytest.mark.soak)]
)

#: Texts that mean something to somebody on the way: YAML, TOML, JSON, Lua, Redis keys, paths, code, the screen.
WORDS = (
    st.sampled_from(
        ["", " ", "\n", "\x00", "\udcff", "null", "~", "no", "1e999", "0x10", "-1", "NaN", "{", "}{", "*"]
    )
    | st.sampled_from(
        ["!!python/object/apply:os.system", "&a [*a]", "$ref", "__class__", "os:system", "%s", "{0}"]
    )
    | st.sampled_from(
        ["../../etc/passwd", "redis://x:y@h", "file:///etc/passwd", "http://127.0.0.1", "lock:floor"]
    )
    | st.sampled_from(
        ["symposia:{x}:session", "a" * 5_000, "agent", "kind", "all", "any", "2026-01-01T00:00:00Z"]
    )
    | st.sampled_from(["99999999-9999-4999-8999-999999999999", "é", "\u2028", "𝄞", "\x1b[2J", "["])
)
TEXTS = WORDS | st.text(max_size=20)
SCALARS = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.sampled_from([0, -1, 2**53, 2**63, 2**70, 10**400])
    | st.floats(allow_nan=False, allow_infinity=False)
    | TEXTS
)
JSON = st.recursive(
    SCALARS, lambda part: st.lists(part, max_size=4) | st.dictionaries(TEXTS, part, max_size=4), max_leaves=12
)


def _places(document: Any) -> Iterator[tuple[Any, Any]]:
    """Every (container, key) of a document."""
    keys = (
        document if isinstance(document, dict) else range(len(document)) if isinstance(document, list) else ()
    )
    for key in list(keys):
        yield document, key
        yield from _places(document[key])


def _mutate(document: Any, random: Random, value: Any, word: str) -> Any:
    places = list(_places(document))
    if not places:
        return value
    container, key = random.choice(places)
    match random.randrange(6):
        case 0:
            del container[key]
        case 1 if isinstance(container, dict):
            container[word] = value
        case 2:
            container[key] = [container[key]]
        case 3:
            other, there = random.choice(places)
            try:
                container[key] = copy.deepcopy(other[there])
            except (KeyError, IndexError):
                container[key] = value
        case _:
            container[key] = value
    return document


@st.composite
def nearly(draw: st.DrawFn, *valid: Any, values: st.SearchStrategy[Any] = JSON) -> Any:
    """One of the valid documents with a few changes anywhere in it."""
    document = copy.deepcopy(draw(st.sampled_from(valid)))
    for _ in range(draw(st.integers(0, 4))):
        value = copy.deepcopy(draw(values))  # the next change may be one of it
        document = _mutate(document, draw(st.randoms(use_true_random=False)), value, draw(TEXTS))
    return document


def garbled(text: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    """Texts of which a piece was cut out, doubled or replaced."""

    @st.composite
    def one(draw: st.DrawFn) -> str:
        whole = draw(text)
        for _ in range(draw(st.integers(0, 3))):
            begin = draw(st.integers(0, len(whole)))
            end = draw(st.integers(begin, min(len(whole), begin + 12)))
            whole = whole[:begin] + draw(TEXTS | st.just(whole[begin:end] * 2)) + whole[end:]
        return whole

    return one()


def as_json(documents: st.SearchStrategy[Any]) -> st.SearchStrategy[str]:
    return documents.map(json.dumps)


def hammer(inputs: st.SearchStrategy[T], use: Callable[[T], object], *, examples: int) -> None:
    """Uses many inputs; each is taken, or refused with an error of ours that is one short line."""

    @settings(max_examples=examples, deadline=None, suppress_health_check=list(HealthCheck), print_blob=True)
    @given(inputs)
    def run(given_: T) -> None:
        try:
            use(given_)
        except SymposiaError as error:
            line = str(error)
            assert line, "an error says something"
            assert "\n" not in line, line
            assert "\x1b" not in line, line
            assert len(line) < 4_000, line

    run()

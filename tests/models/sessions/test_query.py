"""Queries of sessions: parameters, statuses as shown, progress, and names of errors."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sessions.searched import PARAMS
from symposia.models.errors import InvalidInput
from symposia.models.sessions.grouping import SessionGroup, add_up, error_name
from symposia.models.sessions.plan import Totals
from symposia.models.sessions.progress import (
    LimitUse,
    board_items,
    describe_limit,
    estimated_end_ms,
    first_limit,
    limits_in_use,
)
from symposia.models.sessions.query import ATTENTIONS, SessionQuery
from symposia.models.sessions.query_params import moment_ms
from symposia.models.sessions.shown_status import shown_status
from symposia.models.sessions.stop_conditions import (
    CostBudget,
    Deadline,
    MaxRounds,
    MaxTurns,
    RoundOfPasses,
    StopCondition,
    TextSeen,
    TokenBudget,
)
from symposia.models.turns.turn import Usage

CAP = MaxTurns(10_000)


def read(params: dict[str, str]) -> tuple[SessionQuery, tuple[str, ...]]:
    return SessionQuery.read({name: [value] for name, value in params.items()})


@given(params=PARAMS, kinds=st.lists(st.sampled_from([*ATTENTIONS]), unique=True))
def test_parameters_survive_a_round_trip(params: dict[str, str], kinds: list[str]) -> None:
    query, notices = read({**params, "attention": ",".join(kinds), "select": "all"})
    assert notices == ()
    assert read(query.to_params()) == (query, ())
    assert SessionQuery().to_params() == {}
    assert query.changed(mode="pair").page == 1


@given(
    params=st.dictionaries(
        st.sampled_from([*SessionQuery.__dataclass_fields__]), st.lists(st.text(), max_size=3)
    )
)
def test_any_text_gives_a_query(params: dict[str, list[str]]) -> None:
    query, _ = SessionQuery.read(params)
    assert read(query.to_params()) == (query, ())


@pytest.mark.parametrize(
    ("name", "value", "rule"),
    [
        ("status", "failed,odd", "must be one of draft, active"),
        ("attention", "odd", "must be one of person, retry"),
        ("mode", "odd", "must be one of broadcast"),
        ("sort", "--cost", "with `-` for descending"),
        ("group", "user", "must be one of agent"),
        ("page", "0", "from 1 to"),
        ("per_page", "501", "from 1 to 500"),
        ("cost_min", "-1", "in US dollars"),
        ("cost_min", "NaN", "in US dollars"),
        ("since", "24", "must be an age such as 24h"),
        ("until", "0h", "must be an age such as 24h"),
        ("until", "yesterday", "or a time such as"),
        ("until", "2026-01-31T25:00", "or a time such as"),
        ("q", "x" * 501, "only the first 500"),
    ],
)
def test_wrong_values_are_named(name: str, value: str, rule: str) -> None:
    query, notices = read({name: value})
    assert len(notices) == 1
    assert notices[0].startswith(f"{name}: ")
    assert rule in notices[0]
    assert query == SessionQuery(status=("failed",) if name == "status" else (), q=query.q)
    with pytest.raises(InvalidInput, match="got"):
        SessionQuery.read_strictly({name: [value]})


def test_names_of_earlier_versions_are_read() -> None:
    query, notices = read({"status": "active,stuck,parked,no_worker"})
    assert (query.status, query.attention, notices) == (("active",), ("stuck", "person", "worker"), ())


@pytest.mark.parametrize(
    ("text", "ms"),
    [
        ("", None),
        ("1h", 400_000),
        ("2026-01-31", 1_769_817_600_000),
        ("2026-01-31T14:00", 1_769_868_000_000),
        ("2026-01-31 14:00:00+01:00", 1_769_864_400_000),
        ("2026-01-31T14:00:00Z", 1_769_868_000_000),
    ],
)
def test_times_are_ages_or_moments(text: str, ms: int | None) -> None:
    assert moment_ms(text, 4_000_000) == ms


@pytest.mark.parametrize(
    ("status", "reason", "shown"),
    [
        ("active", None, "active"),
        ("cancelled", "failed", "failed"),
        ("cancelled", "all_turns_failed", "failed"),
        ("cancelled", "no_answer", "failed"),
        ("cancelled", "parent_ended", "cancelled"),
        ("cancelled", "the question was wrong", "cancelled"),
        ("cancelled", "deadline", "limit"),
        ("completed", "token_budget", "limit"),
        ("completed", "deadline+token_budget", "limit"),
        ("completed", "token_budget+text_seen", "completed"),
        ("completed", "max_rounds", "completed"),
        ("completed", "failed", "completed"),
    ],
)
def test_status_as_shown(status: str, reason: str | None, shown: str) -> None:
    assert shown_status(status, reason) == shown


@pytest.mark.parametrize(
    ("stop", "limits"),
    [
        (None, []),
        (MaxRounds(40) | RoundOfPasses() | CAP, [("rounds", 7, 40)]),
        (MaxTurns(10_000) | CAP, []),
        (MaxTurns(40) | CAP, [("turns", 20, 40)]),
        (MaxTurns(40) | MaxTurns(30), [("turns", 20, 40)]),
        # A fork has the cap of the session that it continues, too.
        (MaxRounds(9) | MaxTurns(30) | RoundOfPasses() | MaxTurns(30), [("rounds", 7, 9)]),
        (TextSeen("done") | CAP, []),
        (
            TokenBudget(1_500) | CostBudget(5.0) | Deadline(60) | CAP,
            [("tokens", 30, 1_500), ("cost_micros", 4_600_000, 5_000_000), ("seconds", 6.0, 60.0)],
        ),
    ],
)
def test_limits_are_without_safety_caps(stop: StopCondition | None, limits: list[object]) -> None:
    usage = Usage(input_tokens=10, output_tokens=20, cost_micros=4_600_000)
    totals = Totals(turns=20, rounds=7, usage=usage, elapsed_s=6.0)
    uses = limits_in_use(stop, totals)
    assert [(use.unit, use.used, use.limit) for use in uses] == limits


@pytest.mark.parametrize(
    ("uses", "first", "end_ms"),
    [
        ([], None, None),
        ([LimitUse("rounds", 0, 4)], "rounds", None),
        ([LimitUse("rounds", 1, 4), LimitUse("tokens", 1, 2)], "tokens", 12_000),
        ([LimitUse("seconds", 1, 5)], "seconds", 15_000),
        ([LimitUse("items", 15, 15), LimitUse("rounds", 1, 4)], "items", None),
        ([LimitUse("tokens", 1, 10**7)], "tokens", None),
    ],
)
def test_end_is_estimated_from_the_rate(uses: list[LimitUse], first: str | None, end_ms: int | None) -> None:
    reached_first = first_limit(uses)
    assert (reached_first and reached_first.unit) == first
    assert estimated_end_ms(uses, started_ms=10_000, now_ms=11_000) == end_ms


@pytest.mark.parametrize(
    ("use", "words"),
    [
        (LimitUse("rounds", 7, 40), "7 of 40 rounds"),
        (LimitUse("turns", 0, 1), "0 of 1 turn"),
        (LimitUse("tokens", 1_587, 1_500), "1,587 of 1,500 tokens"),
        (LimitUse("cost_micros", 4_600_000, 5_000_000), "$4.60 of $5.00"),
        (LimitUse("seconds", 6.4, 60), "6 s of 1 min"),
    ],
)
def test_limits_in_words(use: LimitUse, words: str) -> None:
    assert describe_limit(use) == words


def test_items_of_a_board_are_a_total() -> None:
    assert board_items("{}") is None
    assert board_items('{"board": {"taken": 15, "done": 3, "dropped": 1}}') == (4, 15)
    assert limits_in_use(CAP, Totals(), items=(4, 15)) == (LimitUse("items", 4, 15),)


@pytest.mark.parametrize(
    ("detail", "name"),
    [
        ("bad: RuntimeError: disk quota exceeded at 18 of 20", "RuntimeError: disk quota exceeded at"),
        (
            "3 of 3 turns failed or were skipped, last: ann: TimeoutError: x; max_rounds: 3 of 3",
            "TimeoutError: x",
        ),
        ("ann: HTTP 503", "HTTP 503"),
        ("bob did not answer\nin time", "bob did not answer"),
        ("ann: ", "ann:"),
    ],
)
def test_errors_of_one_kind_have_one_name(detail: str, name: str) -> None:
    assert error_name(detail) == name
    assert name in detail


def test_groups_are_added_up_and_sorted() -> None:
    details = [SessionGroup(f"ann: HTTP {code} of server", 1, 1, 5) for code in (500, 503)]
    details = [SessionGroup(f"ann: no answer after {s} s", 1, 1, 5) for s in (3, 4)] + details
    groups = [("no answer after", 2, 2, 10), ("HTTP 500 of server", 1, 1, 5), ("HTTP 503 of server", 1, 1, 5)]
    assert add_up(details, by_cost=False, of_errors=True) == [SessionGroup(*group) for group in groups]
    agents = [SessionGroup("ann", 1, 0, 9), SessionGroup("bob", 1, 1, 3)]
    assert [group.name for group in add_up(agents, by_cost=True, of_errors=False)] == ["ann", "bob"]
    assert [group.name for group in add_up(agents, by_cost=False, of_errors=False)] == ["bob", "ann"]

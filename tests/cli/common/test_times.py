"""Times as a user types them."""

from io import StringIO

import pytest
from rich.console import Console

from symposia.cli.common.arguments import age_ms, relative_age, shortest_ids
from symposia.cli.sessions.rows import session_table
from symposia.client.session_rows import SessionListRow
from symposia.models.errors import InvalidInput
from symposia.models.protocol.collab import Collab, CollabStatus, Participant
from symposia.models.text.ids import new_id
from symposia.models.turns.turn import Usage


@pytest.mark.parametrize(
    ("text", "ms"), [("30s", 30_000), ("1h30m", 5_400_000), ("2d", 172_800_000), ("1w", 604_800_000)]
)
def test_ages_have_a_unit(text, ms):
    assert age_ms(text, option="--since") == ms


@pytest.mark.parametrize("text", ["", "2", "0d", "-1d", "soon", "2 days"])
def test_other_ages_are_refused(text):
    with pytest.raises(InvalidInput, match="--since: must be a positive number with a unit"):
        age_ms(text, option="--since")


@pytest.mark.parametrize(
    ("seconds", "words"),
    [(0, "0s ago"), (59, "59s ago"), (61, "1m ago"), (7_300, "2h ago"), (200_000, "2d ago")],
)
def test_relative_age_has_one_unit(seconds, words):
    assert relative_age(0, now_ms=seconds * 1_000) == words


def test_ids_are_as_short_as_commands_take():
    ids = ["3f2a91c4-aaaa", "3f2a91c4-abbb", "11111111-cccc"]
    assert shortest_ids(ids) == {ids[0]: "3f2a91c4-aa", ids[1]: "3f2a91c4-ab", ids[2]: "11111111-cc"}


class _State:
    """What the table reads of a session's state."""

    awaited_agents: tuple[str, ...] = ()
    status, reason, opened_ms, closed, usage = (
        CollabStatus.CANCELLED,
        "all_turns_failed",
        0,
        12_345,
        Usage(input_tokens=9_876_543),
    )


def test_a_listed_session_is_one_line_of_80_columns():
    collab = Collab(
        title="A very long title\nof two lines " * 9, purpose="p", mode="orchestrated",
        participants=[Participant(participant_id="a", role_id="orchestrator")], collab_id=new_id(),
    )  # fmt: skip
    screen = Console(width=80, record=True, file=StringIO())
    screen.print(session_table([SessionListRow(collab, _State())] * 3))
    lines = screen.export_text().splitlines()
    assert len(lines) == 4
    assert all(len(line) <= 80 and line.startswith(collab.collab_id[:8] + "  ") for line in lines[1:])

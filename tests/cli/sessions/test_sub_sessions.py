"""`symposia list`, `show` and `graph` show the tree of a session."""

from __future__ import annotations

from symposia.cli.sessions.rows import session_table
from symposia.client.session_rows import SessionListRow
from symposia.models.protocol.collab import Collab, CollabStatus
from symposia.models.text.ids import new_id
from symposia.tasks.sessions.rendering import ChildNode, GraphFormat, draw


def row(name, parent=None):
    collab = Collab(
        collab_id=name,
        title=f"of {name[:4]}",
        purpose="see",
        mode="pair",
        participants=[{"participant_id": "a"}],
    )
    return SessionListRow(collab, _State(), parent)


class _Usage:
    tokens = 0
    cost_micros = 0


class _State:
    """What a row shows of a state."""

    awaited_agents: tuple[str, ...] = ()
    status, reason, closed, opened_ms, usage = CollabStatus.COMPLETED, None, 0, 0, _Usage()


def test_list_shows_sub_sessions_below_their_parents():
    root, child, below, other = (new_id() for _ in range(4))
    found = [row(below, child), row(other), row(child, root), row(root)]
    (titles,) = [it for it in session_table(found).columns if it.header == "title"]
    assert [str(cell) for cell in titles.cells] == [
        f"of {other[:4]}",
        f"of {root[:4]}",
        f"↳ of {child[:4]}",
        f"  ↳ of {below[:4]}",
    ]


def test_child_of_a_session_that_is_not_listed_is_not_indented():
    child = new_id()
    (titles,) = [it for it in session_table([row(child, new_id())]).columns if it.header == "title"]
    assert [str(cell) for cell in titles.cells] == [f"of {child[:4]}"]


def test_graphs_show_sub_sessions():
    node = ChildNode(1, 'session 3f2a91c4 active: "A"')
    assert "root -.-> s0" in draw([], GraphFormat.MERMAID, [node])
    assert "root -> s0 [style=dashed];" in draw([], GraphFormat.DOT, [node])

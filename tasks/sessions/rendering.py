"""Renderings of a session: task tree as Mermaid, DOT or text, and transcript as an alignment document.

Pure. `rich.tree` is not used for the text: it indents every level and recurses, and a session of 2,000 turns is
2,000 levels deep.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from enum import StrEnum
from typing import NamedTuple

from pydantic import JsonValue

from ...models.alignment.ledger import Ledger
from ...models.errors import InvalidInput
from ...models.protocol.collab import Collab
from ...models.protocol.dialog import Dialog, Message
from ...models.protocol.events import MapEvent
from ...models.sessions.stop_conditions import Converged
from ...models.text.words import count_of
from ...state.redis.readers import converting_to_corrupt, read_object
from ...state.sessions.records import SessionState
from ..planning.decide import read_progress
from ..views.session_views import SessionFacts
from .task_tree import GrantOutcome, TaskNode, TaskTree, read_tree


class GraphFormat(StrEnum):
    """Output format of a task tree."""

    #: For Markdown pages and https://mermaid.live.
    MERMAID = "mermaid"
    #: For Graphviz.
    DOT = "dot"
    #: For a terminal.
    TEXT = "text"


class ChildNode(NamedTuple):
    """A sub-session in the graph of its parent."""

    #: Number of the turn that it answers.
    turn: int
    label: str


def draw(events: Iterable[MapEvent], form: GraphFormat, children: Sequence[ChildNode] = ()) -> str:
    """Return the task tree of a session's MAP events, with its sub-sessions, as text in the given format."""
    return _DRAWN[form](read_tree(events), children)


def _child_edges(tree: TaskTree, children: Sequence[ChildNode]) -> Iterator[tuple[int, ChildNode, str]]:
    """Yield the number of each sub-session, the sub-session, and the name of the node of its turn."""
    newest = {node.turn: f"t{index}" for index, node in enumerate(tree.nodes)}
    for number, child in enumerate(children):
        yield number, child, newest.get(child.turn, "root")


def one_line(text: str, *, limit: int = 120) -> str:
    """Return `text` without line breaks and control characters, cut to `limit` characters."""
    plain = "".join(c if c.isprintable() else " " for c in text)
    line = " ".join(plain.split())
    return line if len(line) <= limit else f"{line[: limit - 1]}…"


def _describe_state(node: TaskNode) -> str:
    """Return the state of a node in words."""
    parts = [node.outcome.value]
    if node.attempt > 1:
        parts.append(f"attempt {node.attempt}")
    if node.tokens:
        parts.append(count_of(node.tokens, "token"))
    if node.error:
        parts.append(node.error)
    return ", ".join(parts)


def _heading(tree: TaskTree) -> list[str]:
    if not tree.mode:  # it has not started
        return [tree.ending or "draft"]
    return [f"{tree.mode}: {tree.title}", tree.ending or "running"]


# -- Mermaid ----------------------------------------------------------------------------------

_PLAIN = frozenset(" -_.,:/()")


def _mermaid_text(text: str) -> str:
    """Escape all but letters, digits and a few other characters as character codes, which Mermaid accepts."""
    return "".join(c if c.isalnum() or c in _PLAIN else f"#{ord(c)};" for c in one_line(text))


def _mermaid(tree: TaskTree, children: Sequence[ChildNode]) -> str:
    heading = "<br/>".join(_mermaid_text(part) for part in _heading(tree))
    lines = ["flowchart TD", f'  root(["{heading}"])']
    grouped = {index for group in tree.groups() for index in group}
    lines += [f"  {_mermaid_node(i, node)}" for i, node in enumerate(tree.nodes) if i not in grouped]
    for number, group in enumerate(tree.groups()):
        lines.append(f'  subgraph group{number}["side by side"]')
        lines += [f"    {_mermaid_node(i, tree.nodes[i])}" for i in group]
        lines.append("  end")
    for index, parent in enumerate(tree.parent_of()):
        lines.append(f"  {'root' if parent is None else f't{parent}'} --> t{index}")
    for number, child, turn in _child_edges(tree, children):
        lines.append(f'  {turn} -.-> s{number}(["{_mermaid_text(child.label)}"])')
    lines.append("  classDef lost stroke-dasharray: 4 4,color:#888")
    return "\n".join(lines)


def _mermaid_node(index: int, node: TaskNode) -> str:
    label = f"{node.turn} {_mermaid_text(node.participant)}<br/>{_mermaid_text(_describe_state(node))}"
    return f't{index}["{label}"]{":::lost" if node.outcome.is_lost else ""}'


# -- DOT --------------------------------------------------------------------------------------


def _dot_text(text: str) -> str:
    return one_line(text).replace("\\", "\\\\").replace('"', '\\"')


def _dot(tree: TaskTree, children: Sequence[ChildNode]) -> str:
    heading = "\\n".join(_dot_text(part) for part in _heading(tree))
    lines = [
        "digraph session {",
        '  node [shape=box, style=rounded, fontname="sans-serif"];',
        f'  root [label="{heading}", shape=oval];',
    ]
    lines += [f"  {_dot_node(index, node)}" for index, node in enumerate(tree.nodes)]
    for number, group in enumerate(tree.groups()):
        members = " ".join(f"t{index};" for index in group)
        lines.append(f'  subgraph cluster_{number} {{ label="side by side"; style=dashed; {members} }}')
    for index, parent in enumerate(tree.parent_of()):
        lines.append(f"  {'root' if parent is None else f't{parent}'} -> t{index};")
    for number, child, turn in _child_edges(tree, children):
        lines.append(f'  s{number} [label="{_dot_text(child.label)}", shape=oval];')
        lines.append(f"  {turn} -> s{number} [style=dashed];")
    return "\n".join([*lines, "}"])


def _dot_node(index: int, node: TaskNode) -> str:
    label = f"{node.turn} {_dot_text(node.participant)}\\n{_dot_text(_describe_state(node))}"
    lost = ', style="rounded,dashed", fontcolor=gray' if node.outcome.is_lost else ""
    return f't{index} [label="{label}"{lost}];'


# -- text -------------------------------------------------------------------------------------

_MARKS = {
    GrantOutcome.SPEAKING: "…",
    GrantOutcome.PASSED: "○",
    GrantOutcome.SKIPPED: "○",
    GrantOutcome.ASKED: "○",
}


def _text(tree: TaskTree, children: Sequence[ChildNode]) -> str:
    """Return the tree as text: branches are indented, the main line never is."""
    lines = [one_line(" · ".join(_heading(tree)))]
    below: dict[str, list[ChildNode]] = {}
    for _, child, turn in _child_edges(tree, children):
        below.setdefault(turn, []).append(child)
    beside = {index for group in tree.groups() for index in group}
    for index, prefix in _branches(tree):
        node = tree.nodes[index]
        mark = "✗" if node.outcome.is_lost else _MARKS.get(node.outcome, "●")
        together = "  (side by side)" if index in beside else ""
        name = one_line(node.participant, limit=40)
        lines.append(f"{prefix}{mark} {node.turn} {name}  {one_line(_describe_state(node))}{together}")
        lines += [f"{prefix}  ↳ {one_line(child.label)}" for child in below.get(f"t{index}", ())]
    return "\n".join(lines)


def _branches(tree: TaskTree) -> Iterator[tuple[int, str]]:
    """Yield node indices in print order, each with its prefix.

    Of several children, the one with the most descendants comes last, and its descendants stay in the column
    of its parent.
    """
    children: dict[int | None, list[int]] = {}
    weight = [1] * len(tree.nodes)
    parents = tree.parent_of()
    for index, parent in enumerate(parents):
        children.setdefault(parent, []).append(index)
    for index in reversed(range(len(parents))):
        if (parent := parents[index]) is not None:
            weight[parent] += weight[index]
    waiting: list[tuple[int | None, str, str]] = [(None, "", "")]
    while waiting:
        parent, prefix, below = waiting.pop()
        if parent is not None:
            yield parent, prefix
        planned = children.get(parent, [])
        main = max(planned, key=lambda index: (weight[index], index), default=None)
        aside = [index for index in planned if index != main]
        if main is not None:
            branch = "" if not aside else "└─" if weight[main] == 1 else "├─"
            waiting.append((main, f"{below}{branch}", below))
        waiting += [(index, f"{below}├─", f"{below}│ ") for index in reversed(aside)]


_DRAWN: dict[GraphFormat, Callable[[TaskTree, Sequence[ChildNode]], str]] = {
    GraphFormat.MERMAID: _mermaid,
    GraphFormat.DOT: _dot,
    GraphFormat.TEXT: _text,
}


def ledger_of(state: SessionState) -> Ledger:
    """Return the marks of a session so far; empty in a session without a protocol.

    Raises:
        CorruptSession: A stored record is invalid.
    """
    kept = read_object(state.stop, session_id=state.session_id, part="stop")
    with converting_to_corrupt(state.session_id, "stop"):
        return Ledger.model_validate(kept.get("ledger") or {})


def output_of(state: SessionState, messages: Sequence[Message]) -> JsonValue:
    """Return the output of a session as JSON data; None: it has none (yet).

    Args:
        state: The session.
        messages: Its messages.

    Raises:
        CorruptSession: A stored record is invalid.
    """
    kept = read_object(state.stop, session_id=state.session_id, part="stop")
    with converting_to_corrupt(state.session_id, "stop"):
        turn = read_progress(kept).turn
    if turn is None:
        return None
    outputs = (
        message.output
        for message in reversed(messages)
        if message.turn_number == turn and message.output is not None
    )
    return next(outputs, None)


def transcript_of(facts: SessionFacts, state: SessionState, collab: Collab, dialog: Dialog) -> str:
    """Return the session as Markdown, checked by parsing it back.

    Raises:
        InvalidInput: The session runs without the alignment protocol.
    """
    # The parser of alignment documents; other readers of sessions do not need it.
    from ...alignment.transcript import render_transcript

    experts = next(
        (condition.experts for condition in facts.spec.stop.leaves() if isinstance(condition, Converged)),
        None,
    )
    if facts.spec.protocol is None or experts is None:
        raise InvalidInput(
            "protocol",
            facts.spec.protocol,
            "must be `alignment`: only alignment sessions can be written as Markdown",
        )
    # Participants who joined later are also experts, but the session does not wait for their convergence.
    joined = (participant.participant_id for participant in collab.participants)
    spoke = (
        message.speaker
        for message in dialog.messages
        if message.turn_number is not None and message.speaker is not None
    )
    judges = {facts.spec.orchestrator, facts.spec.options.aggregator}
    everyone = dict.fromkeys((*experts, *joined, *spoke))
    return render_transcript(
        collab, dialog.messages, ledger_of(state), [speaker for speaker in everyone if speaker not in judges]
    )

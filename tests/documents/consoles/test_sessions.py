"""The console lines of pages on sessions: modes, people, continuing, replay, attachments, limits, archive."""

from __future__ import annotations

import re

import pytest

from documents.installation import Installation
from documents.lines import ROOT
from documents.walk import Walk
from live import until
from processes.terminal import Running
from servers.ports import own_port
from servers.remote_system import post

pytestmark = [pytest.mark.long, pytest.mark.timeout(240)]

PEOPLE = "[{participant_id: writer}, {participant_id: editor, kind: human}]"
ID = re.compile(r"\b[0-9a-f]{8}-[0-9a-f-]{27}\b")


def write(installation: Installation, name: str, text: str) -> str:
    (installation.folder / name).write_text(text)
    return name


def test_modes(shared: Installation) -> None:
    """The block of YAML is the beginning of the file; the rest of it is that of the example."""
    page = (ROOT / "docs/modes.md").read_text()
    (inputs,) = re.findall(r"^```yaml\n(inputs:.*?)^```", page, re.DOTALL | re.MULTILINE)
    example = (ROOT / "examples/inputs.yaml").read_text()
    write(shared, "poem.yaml", inputs + example[example.index("mode:") :])
    write(shared, "values.yaml", "topic: lamps\n")
    seen: list[str] = []
    Walk(shared.terminal, after={"symposia": seen.append}).follow("modes.md", "Inputs")
    assert [name in seen[0] for name in ("topic", "lines", "style")] == [True] * 3
    assert "A plain line about doors." in seen[1]
    assert "A plain line about lamps." in seen[2]
    shared.complete(seen[3].strip())


def test_people(shared: Installation) -> None:
    file = write(
        shared,
        "letter.yaml",
        f"{{title: The autumn letter, purpose: Write it., mode: pair, participants: {PEOPLE}}}",
    )
    write(shared, "answer.txt", "Shorter, please.\n")
    walk = Walk(
        shared.terminal,
        values={"Sat 28 Nov 2026, 09:12 UTC": "...", "6 days": "...", "Dear readers.": "Write it."},
    )

    def ask() -> None:
        session = shared.submit(file)
        shared.wait_for_question(session)
        walk.values["3f2a91c4"] = session[:8]

    walk.before = {"symposia inbox": ask, "symposia reply 3f2a91c4 editor -": ask}
    walk.after = {'symposia reply 3f2a91c4 editor "': lambda _: shared.complete(walk.values["3f2a91c4"])}
    walk.follow("people.md", "Replies")
    until(
        lambda: "Shorter, please." in shared.terminal.call("show", walk.values["3f2a91c4"]).out,
        what="the answer",
    )
    assert shared.terminal.call("cancel", walk.values["3f2a91c4"]).code == 0


def status_of(port: str) -> int:
    """The status of a callback without a signature; 0 while no server listens."""
    try:
        return int(post(f"http://127.0.0.1:{port}/replies", {"text": "hello"})[0])
    except OSError:
        return 0


def test_callbacks(shared: Installation) -> None:
    port = str(own_port())

    def call(service: Running) -> None:
        service.until("press Ctrl-C to stop")
        until(lambda: status_of(port) == 400, what="it refuses what is not signed")

    Walk(shared.terminal, values={"5556": port}, after={"symposia callbacks": call}).follow(
        "people.md", "Callback"
    )


def test_continuing(shared: Installation) -> None:
    agents = "{agent: echo, parameters: {replies: [Mina., Tom., Pia.]}}"
    people = ", ".join(f"{{participant_id: {it}, agent: {agents}}}" for it in ("ada", "ben"))
    text = "title: A name\npurpose: Find a name.\nmode: round_robin\nstop: {max_turns: 4}\n"
    session = shared.complete(shared.submit(write(shared, "name.yaml", f"{text}participants: [{people}]\n")))
    made: list[str] = []

    def note(out: str) -> None:
        made.append(shared.complete(ID.search(out)[0]))

    Walk(
        shared.terminal,
        values={"3f2a91c4": session[:8]},
        after={"symposia continue": note, "symposia fork": note},
        awaited={"symposia list": session[:8]},
    ).follow("continuing.md")
    listed = shared.terminal.call("list", "--thread", session).out
    assert all(it[:8] in listed for it in made)
    assert len(made) == 2


def test_replay(shared: Installation) -> None:
    walk = Walk(shared.terminal)

    def note(out: str) -> None:
        walk.values["3f2a91c4"] = ID.search(out)[0]
        other = shared.complete(shared.submit("examples/pair.yaml", "--record"))
        walk.values["8be10d72"] = other[:8]

    walk.after = {"symposia run": note}
    walk.follow("replay.md")


def test_attachments(shared: Installation) -> None:
    write(shared, "plan.pdf", "%PDF-1.4\n")
    session = shared.complete(shared.submit("examples/pair.yaml", "--attach", "plan.pdf"))
    Walk(
        shared.terminal,
        values={"3f2a91c4": session[:8]},
        awaited={"symposia attachments 3f2a91c4 --save": ""},
    ).follow("attachments.md")
    assert (shared.folder / "files/plan.pdf").read_bytes() == b"%PDF-1.4\n"


def test_tenants(shared: Installation) -> None:
    text = (ROOT / "examples/pair.yaml").read_text()
    shared.complete(shared.submit(write(shared, "charged.yaml", f"{text}tenant: acme\n")))
    # The numbers of the page are examples; the limits are those of the settings.
    numbers = {"41,250": "...", "0.31": "...", "212": "4"}
    Walk(shared.terminal, values=numbers, awaited={"symposia tenant": "turns"}).follow("limits.md", "Tenants")


def test_priority(shared: Installation) -> None:
    Walk(shared.terminal).follow("limits.md", "Priority of a session")


def test_changes_of_many_sessions(shared: Installation) -> None:
    Walk(shared.terminal).follow("steering.md", "Many sessions")


def test_archive(installation: Installation) -> None:
    people = '[{participant_id: writer, agent: {agent: echo, parameters: {replies: ["A blue door."]}}},'
    text = f"title: A notice\npurpose: Write it.\nmode: pair\nparticipants: {people} {{participant_id: editor, kind: human}}]\n"
    session = installation.submit(write(installation, "tagged.yaml", f"{text}meta: {{tags: [review]}}\n"))
    installation.wait_for_question(session)
    installation.wait_until_archived(session)
    Walk(
        installation.terminal,
        values={"3f2a91c4": session[:8]},
        before={"symposia show": installation.node.client.flushall},
        awaited={
            "symposia list": session[:8],
            "symposia show": "A blue door.",
            "symposia search": session[:8],
        },
    ).follow("archive.md")
    assert installation.read(session)["status"] == "active"


def test_recipe_of_a_review(shared: Installation) -> None:
    page = (ROOT / "docs/recipes/review.md").read_text()
    (code,) = re.findall(r"^```python[^\n]*\n(.*?)^```", page, re.DOTALL | re.MULTILINE)
    write(shared, "doors.py", code)
    walk = Walk(shared.terminal, codes={"symposia review": 1})
    walk.follow("review.md", "Review code, also in continuous integration")

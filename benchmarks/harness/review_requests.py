"""What a review sends to a model: tokens of a change, identical beginning of a night's requests, repeated items.

Requests are planned and put together as a worker does, and not sent.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import islice, pairwise
from pathlib import Path

import celery

from symposia.models.prompts.layout import build_prompt, format_message
from symposia.models.protocol.collab import CollabMode, Participant
from symposia.models.protocol.dialog import Message, Role
from symposia.models.sessions.known_agents import ReaderModel
from symposia.models.turns.message_lists import estimate_tokens
from symposia.models.turns.turn import BATCHED_PROGRAMS, REVIEW_PARAMETER
from symposia.reviews.batches.item_sessions import seat_instructions
from symposia.reviews.batches.program_runs import run_programs
from symposia.reviews.batches.request import ReviewRequest, is_read_by_models, planner_of
from symposia.reviews.batches.start import CHUNK
from symposia.reviews.chunks.planner import PlannedSession
from symposia.reviews.chunks.project import Project
from symposia.reviews.panels import find_panel
from symposia.reviews.requests.files import request_for_root
from symposia.reviews.reviewers.judge import ASKING
from symposia.reviews.sources.files import FileSelection
from symposia.reviews.values.answers import parse_reviewer_answer
from symposia.reviews.values.checks import VERIFIER, VERIFYING
from symposia.reviews.values.panels import Panel, Seat, readers_of
from symposia.reviews.values.runs import ReadItem
from symposia.testing.agents import BEGIN, turn

MODEL = ReaderModel(context_tokens=200_000)


@dataclass(frozen=True)
class Plan:
    """The requests of a review, and a digest of what decides whether an item is reviewed again."""

    requests: tuple[str, ...]
    shown: dict[str, str]

    @property
    def tokens(self) -> int:
        """Tokens of all requests."""
        return sum(map(estimate_tokens, self.requests))

    @property
    def shared(self) -> float:
        """Share of what is sent that is identical with the beginning of the request before."""
        return sum(_same(*pair) for pair in pairwise(self.requests)) / sum(map(len, self.requests))


def _same(before: str, now: str) -> int:
    """Return the number of characters at the beginning of both texts."""
    return next(
        (n for n, (a, b) in enumerate(zip(before, now, strict=False)) if a != b), min(len(before), len(now))
    )


def plan_review(root: Path, selection: FileSelection = FileSelection(), *, panel: str = "code") -> Plan:  # noqa: B008
    """Return the requests of a review of a folder by a panel with one model."""
    chosen = find_panel(panel).with_model("model")
    order = request_for_root(root, chosen, selection, name="root", branch="", archive=None)
    readers = readers_of(chosen, {"model": MODEL})
    planner = planner_of(order, readers, Project(chosen, root))
    plans = [planner.plan(read) for read in _reviewed(order)]
    sessions = [
        session for plan in plans for session in plan.sessions if is_read_by_models(session.item, readers)
    ]
    files = [file for plan in plans for file in plan.changed]
    sessions += planner.together(files, [plan.item for plan in plans], ())
    seat = next(seat for seat in chosen.seats if seat.model)
    requests = [build_request(chosen, session, seat) for session in sessions]
    return Plan(tuple(requests), {plan.item.path: plan.item.shown + plan.item.sha256 for plan in plans})


def _reviewed(order: ReviewRequest) -> Iterable[ReadItem]:
    return (
        read for read in order.source if isinstance(read, ReadItem) and order.panel.reviews(read.item.path)
    )


def build_request(panel: Panel, session: PlannedSession, seat: Seat, *, heard: Sequence[Message] = ()) -> str:
    """Return the request to a model in a seat, in the order in which a provider reads it."""
    opening = [
        Message(role=Role.USER, content=session.opening, timestamp=BEGIN),
        Message(role=Role.SYSTEM, content=session.guide, timestamp=BEGIN),
    ]
    names = ("judge", *(member.name for member in panel.seats if member.model))
    roster = tuple(Participant(participant_id=name) for name in names)
    asked = turn(
        mode=CollabMode.ORCHESTRATED,
        roster=roster,
        purpose=panel.purpose,
        instruction=VERIFYING if seat.role == VERIFIER else ASKING,
        messages=[*opening, *heard],
        opening=opening,
        parameters={REVIEW_PARAMETER: {}},
    )
    asked = asked.model_copy(update={"me": Participant(participant_id=seat.name, role_id=seat.role)})
    prompt = build_prompt(asked, seat_instructions(seat) or "", structured=False)
    said = [format_message(message, asked) for message in heard]
    return "\n\n".join([prompt.session, prompt.task, *said, prompt.turn])


def program_cpu(root: Path) -> float:
    """Return the CPU seconds of a review of a folder by ruff and bandit, without the turns of its sessions."""
    began = _cpu_s()
    panel = find_panel("code")
    order = request_for_root(root, panel, FileSelection(), name="root", branch="", archive=None)
    planner, reads = planner_of(order, {}, Project(panel, root)), iter(_reviewed(order))
    while chunk := list(islice(reads, CHUNK)):
        for read in chunk:
            planner.plan(read)
        outputs = run_programs(chunk, panel, order.settings, built_in=BATCHED_PROGRAMS)
        for path, answers in outputs.items():
            for agent, text in answers.items():
                parse_reviewer_answer(text, path=path, paths=(path,), agent=agent)
    return _cpu_s() - began


def tools_cpu(root: Path) -> float:
    """Return the CPU seconds of ruff and bandit alone over a folder."""
    began = _cpu_s()
    for tool in (
        ("ruff", "check", "--no-cache", "--output-format=json", "."),
        ("bandit", "--format=json", "-r", "."),
    ):
        subprocess.run([sys.executable, "-m", *tool], cwd=root, capture_output=True, check=False)
    return _cpu_s() - began


def _cpu_s() -> float:
    """Return the CPU seconds of this process and of its ended children."""
    return sum(os.times()[:4])


#: Files of a typical pull request, in the package Celery, and the share of a file at which it changes.
TYPICAL_FILES = ("app/control.py", "app/routes.py", "app/trace.py", "backends/base.py", "utils/time.py")
_CHANGED_AT = (0.3, 0.6)


def copy_package(folder: Path) -> Path:
    """Copy the source files of the package Celery into a new git repository, committed; return its folder."""
    source = Path(celery.__file__).parent
    for file in source.rglob("*.py"):
        target = folder / file.relative_to(source)
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(file.read_text())
    _git(folder, "init", "--quiet")
    _git(folder, "add", ".")
    _git(folder, *_IDENTITY, "commit", "--quiet", "--message", "Add the package")
    return folder


def change_files(
    folder: Path, paths: Sequence[str] = TYPICAL_FILES, *, shares: Sequence[float] = _CHANGED_AT
) -> None:
    """Change a line and add two at some places of each file, without a change of a signature."""
    for path in paths:
        lines = (folder / path).read_text().split("\n")
        for share in shares[::-1]:
            at = next(n for n in range(int(len(lines) * share), len(lines)) if not lines[n].endswith("\\"))
            lines[at : at + 1] = [f"{lines[at]}  # changed", "# A new", "# comment."]
        (folder / path).write_text("\n".join(lines))


_IDENTITY = ("-c", "user.name=bench", "-c", "user.email=bench@example.com", "-c", "commit.gpgsign=false")


def _git(folder: Path, *arguments: str) -> str:
    command = [shutil.which("git") or "git", *arguments]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=True)
    return done.stdout


def diff_tokens(folder: Path) -> int:
    """Return the tokens of `git diff --unified=10` of a work tree."""
    return estimate_tokens(_git(folder, "diff", "--unified=10"))

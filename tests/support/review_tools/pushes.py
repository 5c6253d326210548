"""A branch that is pushed and reviewed again and again, and its pull request on a server of either code host.

The panel has a model, whose words are given, and no archive: each run knows the earlier findings as the archive does.
"""

from __future__ import annotations

import difflib
from dataclasses import dataclass, field
from typing import Any

from review_tools.pulls import NUMBER, destinations, payload
from review_tools.values import a_finding, a_result, a_run, an_item
from servers.code_hosts.github import GitHub, Pull
from servers.code_hosts.gitlab import GitLab, MergeRequest
from servers.code_hosts.json_server import TOKEN
from symposia.reviews.archive.tables import finding_rows, item_rows, run_from_rows, run_row
from symposia.reviews.comparing import compare_run
from symposia.reviews.state.decisions import DecisionStore
from symposia.reviews.values.changes import Hunk, changed_ranges, removed_ranges
from symposia.reviews.values.decisions import repository_of, with_decisions
from symposia.reviews.values.findings import Category, Finding, Side, with_shown_line
from symposia.reviews.values.runs import ItemKind, ReviewRun

PATH = "app.py"
MODEL, PROGRAM = "reviewer", "ruff"
REPOSITORY = "https://git.example.com/example/shop"


@dataclass(frozen=True)
class Report:
    """What a reviewer says about the line with a text."""

    line: str
    message: str
    category: Category | None = None
    rule: str = ""
    side: Side = Side.RIGHT


@dataclass
class Branch:
    """A file of a branch, whose pull request is reviewed after each push."""

    host: GitHub | GitLab
    decisions: DecisionStore
    base: str
    text: str = ""
    #: Results of the last run of the file, as the archive has them.
    known: tuple[Finding, ...] = ()
    runs: list[ReviewRun] = field(default_factory=list)

    def push(
        self,
        text: str,
        *reports: Report,
        is_incremental: bool = False,
        is_forced: bool = False,
        base: str = "",
    ) -> ReviewRun:
        """Push a text; review all changes, or those since the last push; deliver; return the run."""
        before, self.text, self.base = self.text, text, base or self.base
        head = f"{len(self.runs) + 1:040x}"
        self.host.commits[head] = []
        self._change(head, {PATH: _patch(self.base, text)}, is_forced=is_forced)
        since = before if is_incremental else self.base
        changed, removed = _changed(since, text)
        item = an_item(PATH, text, kind=ItemKind.CHANGE, changed=changed, removed=removed)
        findings = tuple(self._finding(report) for report in reports)
        run = a_run(
            a_result(*findings, item=item), revision=head, repository_url=REPOSITORY, root_name="shop"
        )
        run = compare_run(run, previous=self.known, models={MODEL})
        run = with_decisions(run, self.decisions.of_repository(repository_of(run)))
        self.known = run.results[0].findings
        self.runs.append(run)
        self.deliver(run)
        return run

    def deliver(self, run: ReviewRun) -> None:
        """Deliver a run as a worker does, which reads it from the archive."""
        run = run_from_rows(run_row(run), item_rows(run, 1), finding_rows(run, 1))
        kind, name = ("github", "repository") if isinstance(self.host, GitHub) else ("gitlab", "project")
        entry = {"kind": kind, name: "example/shop", "api_url": self.host.url, "token_env": "HOST_TOKEN"}
        host = destinations(TOKEN, host={**entry, "networks": ["127.0.0.0/8"]})
        host.deliver("host", payload(run), decisions=self.decisions)

    def _change(self, head: str, files: dict[str, str], *, is_forced: bool) -> None:
        if isinstance(self.host, GitHub):
            pull = self.host.pulls.setdefault(NUMBER, Pull(head, {}))
            pull.push(head, dict(files), is_forced=is_forced)
        else:
            merge_request = self.host.merge_requests.setdefault(NUMBER, MergeRequest(head, {}))
            merge_request.push(head, files, is_forced=is_forced)

    def _finding(self, report: Report) -> Finding:
        text = self.text if report.side is Side.RIGHT else self.base
        lines = dict(enumerate(text.splitlines(), start=1))
        number = next(number for number, line in lines.items() if line.strip() == report.line)
        finding = a_finding(
            line=number,
            rule=report.rule or report.category,
            category=report.category,
            message=report.message,
            side=report.side,
            agents=(MODEL,) if report.category else (PROGRAM,),
        )
        return with_shown_line(finding, lines)

    # -- the pull request -------------------------------------------------------------------------

    @property
    def threads(self) -> list[dict[str, Any]]:
        """Its threads, as the server has them."""
        if isinstance(self.host, GitHub):
            return self.host.pulls[NUMBER].threads
        return self.host.merge_requests[NUMBER].threads

    def bodies(self) -> list[str]:
        """The comments that began threads."""
        return [_first(thread)["body"] for thread in self.threads]

    def states(self) -> list[str]:
        """State of each thread: open, gone or suppressed, and `+resolved`."""
        states = []
        for thread, body in zip(self.threads, self.bodies(), strict=True):
            is_gone, is_suppressed = (body.startswith(it) for it in ("**No longer", "**Suppressed"))
            state = "gone" if is_gone else "suppressed" if is_suppressed else "open"
            is_resolved = thread.get("isResolved") or _first(thread).get("resolved")
            states.append(f"{state}+resolved" if is_resolved else state)
        return states

    def summaries(self) -> list[str]:
        """Comments that belong to no line."""
        if isinstance(self.host, GitHub):
            return [comment["body"] for comment in self.host.pulls[NUMBER].comments]
        return [note["body"] for note in self.host.merge_requests[NUMBER].notes]

    def answer(self, number: int, text: str, *, is_trusted: bool = True) -> None:
        """A person answers in a thread."""
        thread = self.threads[number]
        if isinstance(self.host, GitHub):
            self.host.answer(thread, "ann", text, association="MEMBER" if is_trusted else "NONE")
        else:
            self.host.answer(thread, 3 if is_trusted else 4, text)

    def resolve(self, number: int) -> None:
        """A person resolves a thread."""
        thread = self.threads[number]
        if isinstance(self.host, GitHub):
            self.host.resolve(thread, "ann")
        else:
            self.host.resolve(thread, 3)

    def last_status(self) -> str:
        """State of the newest commit status."""
        return {"failed": "failure"}.get(state := self.host.statuses[-1][1]["state"], state)


def _first(thread: dict[str, Any]) -> dict[str, Any]:
    return thread["comment"] if "comment" in thread else thread["notes"][0]


def _patch(old: str, new: str) -> str:
    lines = difflib.unified_diff(old.splitlines(), new.splitlines(), lineterm="")
    return "\n".join(list(lines)[2:]) + "\n"


def _changed(old: str, new: str) -> tuple[tuple[tuple[int, int], ...], ...]:
    """Ranges of the changed lines of the new text, and of the removed lines of the old one."""
    hunks = [
        Hunk(old_start + 1, old_end - old_start, (), new_start + 1, new_end - new_start)
        for kind, old_start, old_end, new_start, new_end in difflib.SequenceMatcher(
            None, old.splitlines(), new.splitlines(), autojunk=False
        ).get_opcodes()
        if kind != "equal"
    ]
    return changed_ranges(hunks), removed_ranges(hunks)

"""The transcript of an alignment session, printed or saved."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ....jobs.collab import CollabJob


def print_transcript(job: CollabJob) -> None:
    """Print the alignment document, and the findings of strict lint on standard error."""
    from ..common.screen import print_document

    text = job.transcript()
    print_document(text)
    _print_lint_findings(text)


def save_transcript(job: CollabJob) -> None:
    """Write the alignment document to `ID.dialogue.md` in the current folder, and print the findings of strict lint."""
    from ..common.screen import console

    text, path = job.transcript(), Path(f"{job.id}.dialogue.md")
    path.write_text(text, encoding="utf-8")
    console(stderr=True).print(f"Transcript written to {path}.")
    _print_lint_findings(text)


def _print_lint_findings(text: str) -> None:
    from ....models.alignment.transcript import lint_transcript
    from ..common.screen import console, printable

    for fault in lint_transcript(text):
        console(stderr=True).print(printable(fault), soft_wrap=True)

"""The transcript of an alignment session, printed or saved."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ...job import CollabJob


def print_transcript(job: CollabJob) -> None:
    """Prints the document, and on standard error what strict lint finds in it."""
    from .screen import print_document

    text = job.transcript()
    print_document(text)
    _tell_faults(text)


def save_transcript(job: CollabJob) -> None:
    """Writes the document to `ID.dialogue.md` in the current folder."""
    from .screen import console

    text, path = job.transcript(), Path(f"{job.id}.dialogue.md")
    path.write_text(text, encoding="utf-8")
    console(stderr=True).print(f"Saved {path}.")
    _tell_faults(text)


def _tell_faults(text: str) -> None:
    from ...models.alignment.transcript import faults_of
    from .screen import console, printable

    for fault in faults_of(text):
        console(stderr=True).print(printable(fault), soft_wrap=True)

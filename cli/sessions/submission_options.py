"""Options of `symposia run` and `symposia submit` that add to a session file: inputs, messages, files, people."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ..common.screen import plain_table, printable

if TYPE_CHECKING:
    from rich.table import Table

    from ...config.settings import Settings
    from ...jobs.session_file import SessionFile
    from ...models.sessions.inputs import SessionInput
    from ...models.sessions.submission import Submission

Set = Annotated[
    list[str] | None,
    typer.Option(
        "--set", metavar="NAME=VALUE", help="Value of an input of the file; may be given several times."
    ),
]
Input = Annotated[
    str | None,
    typer.Option(
        "--input", metavar="FILE", help="YAML or JSON table of inputs by name; --set replaces single values."
    ),
]
Messages = Annotated[
    list[str] | None,
    typer.Option(
        "--message",
        metavar="TEXT",
        help="Opening message of the user after those of the file, taken literally; may be given several times.",
    ),
]
Priority = Annotated[
    str | None,
    typer.Option(
        "--priority",
        metavar="high|normal|low",
        help="Priority among the sessions of its tenant.",
        show_default="as in the file, else normal",
    ),
]
ListInputs = Annotated[bool, typer.Option("--inputs", help="List the inputs of the file and exit.")]


@dataclass(frozen=True, slots=True)
class SubmissionOptions:
    """The options as they were given; they add to what the session file says."""

    set: Sequence[str] | None
    file: str | None
    messages: Sequence[str] | None
    record: bool | None
    attach: list[Path] | None
    approvers: list[str] | None
    observers: list[str] | None
    draft: bool = False
    priority: str | None = None

    def read(self, sources: Sequence[SessionFile], settings: Settings) -> list[Submission]:
        """Return the submissions of session files with these options.

        Raises:
            InvalidInput: A file or an option breaks a rule.
        """
        table = self._table(sources)
        texts = self._texts()
        read = [self._submission(source, table, texts) for source in sources]
        return [self._extend(submission, max_bytes=settings.max_attachment_bytes) for submission in read]

    def _extend(self, submission: Submission, *, max_bytes: int) -> Submission:
        """Return a submission with further attachments, whose sizes are checked, and further people without turns."""
        from ...models.attachments import check_attachments, read_given
        from ...models.sessions.priority import Priority
        from ...models.turns.asked_people import read_names

        attachments = (*submission.attachments, *read_given(self.attach, max_bytes=max_bytes))
        check_attachments(attachments, max_bytes=max_bytes)
        return submission.model_copy(
            update={
                "attachments": attachments,
                "approvers": (*submission.approvers, *read_names("--approver", self.approvers)),
                "observers": (*submission.observers, *read_names("--observer", self.observers)),
                "record": submission.record if self.record is None else self.record,
                "draft": self.draft or submission.draft,
                "priority": submission.priority
                if self.priority is None
                else Priority.read(self.priority, field="--priority"),
            }
        )

    def _submission(self, source: SessionFile, table: dict[str, Any], texts: dict[str, str]) -> Submission:
        from ...models.errors import within
        from ...models.protocol.dialog import Message, Role

        declared = {session_input.name: session_input for session_input in source.inputs()} if texts else {}
        read = {
            name: declared[name].read_text(text) if name in declared else text for name, text in texts.items()
        }
        submission = source.submission({**table, **read})
        with within("--message"):
            added = [Message(role=Role.USER, content=text) for text in self.messages or ()]
        return submission.model_copy(update={"messages": (*submission.messages, *added)})

    def _table(self, sources: Sequence[SessionFile]) -> dict[str, Any]:
        from ...jobs.session_file import STDIN_NAME, SessionFile
        from ...models.errors import InvalidInput

        if self.file is None:
            return {}
        source = SessionFile.open(self.file)
        if source.name == STDIN_NAME and any(session_file.name == STDIN_NAME for session_file in sources):
            raise InvalidInput("--input", self.file, "must be a file: standard input is the session file")
        content = source.content()
        if not isinstance(content, dict):
            raise InvalidInput("--input", self.file, "must contain a table of inputs by name")
        return content

    def _texts(self) -> dict[str, str]:
        from ...models.errors import InvalidInput

        texts: dict[str, str] = {}
        for given in self.set or ():
            name, equals, text = given.partition("=")
            if not equals or not name:
                raise InvalidInput("--set", given, "must be NAME=VALUE")
            if name in texts:
                raise InvalidInput("--set", given, f"must give {name!r} one value")
            texts[name] = text
        return texts


def inputs_table(inputs: Sequence[SessionInput]) -> Table:
    """Return a table of the inputs of a file, one line each."""
    from rich.text import Text

    from ...models.sessions.inputs import render_value

    table = plain_table("input", "type", "default", "choices", "help")
    for column in table.columns:
        column.no_wrap, column.overflow = column.header in ("input", "type"), "fold"
    for session_input in inputs:
        default = "(required)" if session_input.default is None else render_value(session_input.default)
        choices = ", ".join(map(render_value, session_input.choices))
        cells = (session_input.name, session_input.type.value, default, choices, session_input.help)
        table.add_row(*(Text(printable(cell)) for cell in cells))
    return table

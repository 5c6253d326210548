"""Reader of cases files, for `symposia eval FILE` and `Client.evaluate`."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter, ValidationError

from ..jobs.session_file import STDIN, SessionFile, read_schema, read_table, roots_of
from ..jobs.subsession_files import FileResolver, locate
from ..models.errors import InvalidInput, invalid_input, within
from ..models.sessions.input_texts import check_texts, escape_texts
from ..models.sessions.inputs import FIELD
from ..models.sessions.submission import Submission
from ..tasks.sessions.opening import prepare
from .cases import Evaluation
from .scorers import Name, ScorerKind
from .scoring import judge_submission


@dataclass(frozen=True, slots=True)
class CasesFile:
    """An evaluation, with the folder of its programs."""

    evaluation: Evaluation
    folder: Path
    #: The file, for lines in errors; None: the evaluation was given as data.
    source: SessionFile | None = None

    @classmethod
    def open(cls, path: str, *, root: Path | None = None) -> CasesFile:
        """Read a file, or standard input for `-`.

        `root`: folder below which it may name files, besides its own; None: no other one.

        Raises:
            InvalidSessionFile: The file cannot be read, or breaks a rule; the error names the line if it is known.
        """
        source = SessionFile.open(path)
        folder = Path(path).parent
        with source.name_file_in_errors():
            document = {
                "name": "evaluation" if path == STDIN else Path(path).stem,
                **_table(source.content()),
            }
            return cls(_read(document, folder, roots_of(folder, root)), folder, source)

    @classmethod
    def of_data(cls, document: Mapping[str, Any], *, root: Path | None = None) -> CasesFile:
        """Return an evaluation given as data; files are relative to the working folder, and below it or `root`.

        Raises:
            InvalidInput: A value breaks a rule.
        """
        return cls(_read(document, Path(), roots_of(Path(), root)), Path())

    def with_parallel(self, parallel: int) -> CasesFile:
        """Return the same evaluation with another maximum number of runs at the same time."""
        return replace(self, evaluation=self.evaluation.model_copy(update={"parallel": parallel}))

    def renamed(self, name: str) -> CasesFile:
        """Return the same evaluation under another name, whose runs are others.

        Raises:
            InvalidInput: The name breaks a rule.
        """
        try:
            valid_name = TypeAdapter(Name).validate_python(name)
        except ValidationError as error:
            raise invalid_input(error, "name") from None
        return replace(self, evaluation=self.evaluation.model_copy(update={"name": valid_name}))

    def name_file_in_errors(self) -> AbstractContextManager[None]:
        """Convert InvalidInput inside the block to an error that names the file and the line, if there is a file."""
        return nullcontext() if self.source is None else self.source.name_file_in_errors()

    def check(self, *, known_agents: frozenset[str], max_message_bytes: int) -> list[Submission]:
        """Return the prepared session of each variant, and those of the judges, checked as they will be submitted.

        `known_agents` are the names that workers announced; empty if no worker announced any.

        Raises:
            InvalidInput: One line with field, value and rule; the error names file and line if there is a file.
        """
        with self.name_file_in_errors():
            prepared = []
            for variant in self.evaluation.variants:
                with within(f"variants.{variant}"):
                    submission = Submission.from_document(self.evaluation.session_of(variant))
                    prepared.append(
                        prepare(submission, known_agents=known_agents, max_message_bytes=max_message_bytes)
                    )
                    self._check_answer_by(submission)
            for index, scorer in enumerate(self.evaluation.scorers):
                if scorer.kind is ScorerKind.JUDGE:
                    with within(f"scorers[{index}].judge"):
                        judge = judge_submission(scorer, next(self.evaluation.runs()), "answer")
                        prepared.append(
                            prepare(judge, known_agents=known_agents, max_message_bytes=max_message_bytes)
                        )
            return prepared

    def check_messages(self, *, max_message_bytes: int) -> None:
        """Check the message of each case in the session of each variant; it needs no worker.

        Raises:
            InvalidInput: As of `check`.
        """
        with self.name_file_in_errors():
            for run in self.evaluation.runs():
                if run.repeat == 1:
                    with within(f"cases[{run.index}]"):
                        prepare(run.submission(), max_message_bytes=max_message_bytes)

    def _check_answer_by(self, submission: Submission) -> None:
        name = self.evaluation.answer_by
        ids = {participant.participant_id for participant in submission.collab.participants}
        if name is not None and name not in ids:
            raise InvalidInput(
                "answer_by", name, f"must be the id of a participant: {', '.join(sorted(ids))}"
            )


def _read(document: Mapping[str, Any], folder: Path, roots: tuple[Path, ...]) -> Evaluation:
    """Return the evaluation with the session files that it names in their places."""
    whole, has_inputs = dict(document), False
    if isinstance(session := whole.get("session"), str):
        locate(folder, session, field="session", roots=roots)
        whole["session"] = session = _read_template(folder / session, roots=roots)
        has_inputs = FIELD in session
    elif isinstance(session, Mapping):
        has_inputs = FIELD in session
        whole["session"] = _resolve_template(session, folder, has_inputs=has_inputs, roots=roots)
    if isinstance(variants := whole.get("variants"), Mapping):
        whole["variants"] = {
            name: _resolve_template(variant, folder, has_inputs=has_inputs, roots=roots)
            if isinstance(variant, Mapping)
            else variant
            for name, variant in variants.items()
        }
    return Evaluation.read(whole)


def _table(content: object) -> Mapping[str, Any]:
    if not isinstance(content, Mapping):
        raise InvalidInput("", content, "must be a table with session, cases and scorers")
    return content


def _read_template(path: Path, *, roots: tuple[Path, ...]) -> dict[str, Any]:
    """Return the table of a session file with its declarations of inputs, and with the files that it names.

    `roots`: folders below which these files must be.

    Raises:
        InvalidSessionFile: A file cannot be read or breaks a rule; the error names the line if it is known.
    """
    source = SessionFile.open(str(path))
    document = source.document()
    with source.name_file_in_errors():
        check_texts(document)
        has_inputs, above = FIELD in document, (path.resolve(),)
        return _resolve_template(document, path.parent, has_inputs=has_inputs, roots=roots, above=above)


def _resolve_template(
    document: Mapping[str, Any],
    folder: Path,
    *,
    has_inputs: bool,
    roots: tuple[Path, ...],
    above: tuple[Path, ...] = (),
) -> dict[str, Any]:
    """Return a session, or changes of one, with the files that it names, relative to `folder`, in their places.

    Their texts are escaped if the session has inputs, which do not count in them: `fill_texts` returns them as they were.
    `above`: the file that contains the document.

    Raises:
        InvalidInput: A file cannot be read, breaks a rule, contains itself, or is nested too deep.
    """
    read = _read_escaped if has_inputs else read_table
    return FileResolver(read, read_schema, roots, above).resolve(document, folder)


def _read_escaped(path: Path) -> dict[str, Any]:
    return escape_texts(read_table(path))

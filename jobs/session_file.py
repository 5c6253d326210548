"""Reader of session files, for `symposia run FILE` and `symposia submit FILE`.

    title: A haiku about queues
    purpose: Write a haiku about message queues that a poet would sign.
    mode: pair
    participants:
      - {participant_id: poet, agent: local}
      - {participant_id: editor, agent: local}
    stop: {max_rounds: 2}

A file is YAML or JSON. Its fields are those of a collab, with `agent` at each participant, and those of
`models.sessions.how_to_run.HowToRun`. `output_schema: FILE` names a file with the JSON schema of the output, and
`inputs` declares the names that stand for values in its texts (`models.sessions.inputs`). `attachments` lists files
of the first message; the program that submits the session reads them.
"""

from __future__ import annotations

import json
import os
import stat
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from types import MappingProxyType
from typing import Any, NoReturn

from ..models.attachments import ATTACHMENTS, MAX_PER_MESSAGE, Attachment, read_given
from ..models.errors import InvalidInput, InvalidSessionFile
from ..models.sessions.input_texts import fill_inputs
from ..models.sessions.inputs import FIELD, SessionInput, read_inputs
from ..models.sessions.submission import Submission
from ..models.text.json_text import depth_of
from .strict_data import MAX_DEPTH, NotYaml, OverLimit, line_of, read_json, read_yaml
from .subsession_files import FileResolver, locate

#: Maximum bytes of a session file.
MAX_BYTES = 16 * 1024 * 1024
#: Path of standard input.
STDIN = "-"
#: Its name in messages.
STDIN_NAME = "standard input"
_NO_OPTIONS: Mapping[str, Any] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class SessionFile:
    """The text of a session file."""

    #: Name of the file in messages.
    name: str
    text: str
    #: Folder below which it may name files, besides its own folder; None: no other one.
    root: Path | None = None

    @classmethod
    def open(cls, path: str, *, root: Path | None = None) -> SessionFile:
        """Read a file, or standard input for `-`.

        `root`: folder below which it may name files, besides its own; None: no other one.

        Raises:
            InvalidSessionFile: The file cannot be read, is no regular file, is not UTF-8 text, or is too large.
        """
        name = STDIN_NAME if path == STDIN else path
        try:
            raw = sys.stdin.buffer.read(MAX_BYTES + 1) if path == STDIN else _head(Path(path))
            text = raw.decode()
        except OSError as error:
            raise InvalidSessionFile(name, rule=f"cannot be read: {error.strerror}") from None
        except UnicodeDecodeError:
            raise InvalidSessionFile(name, rule="must be valid UTF-8 text") from None
        if len(raw) > MAX_BYTES:
            raise InvalidSessionFile(name, rule=f"must be at most {MAX_BYTES} bytes")
        return cls(name, text.removeprefix("\ufeff"), root)

    @property
    def is_standard_input(self) -> bool:
        """Whether the text was read from standard input."""
        return self.name == STDIN_NAME

    def submission(self, inputs: object = None, options: Mapping[str, Any] = _NO_OPTIONS) -> Submission:
        """Return the submission of the file.

        Args:
            inputs: Values of the inputs of the file, by name.
            options: Further options, which replace those of the file; None: not given.

        Raises:
            InvalidSessionFile: The file, or a value for it, breaks a rule; the error names the line if it is known.
        """
        document = self.document()
        folder = Path() if self.is_standard_input else Path(self.name).parent
        above = () if self.is_standard_input else (Path(self.name).resolve(),)
        roots = roots_of(folder, self.root)
        with self.name_file_in_errors():
            filled, values = fill_inputs(document, inputs)
            filled.pop(ATTACHMENTS, None)
            # Not with the values of inputs: those may come from outside, and would open a file.
            own = _read_attachments(document.get(ATTACHMENTS), folder, roots)
            given = read_given(options.get(ATTACHMENTS))
            attachments = read_given((*own, *given)) if own and given else own or given
            rest = {name: value for name, value in options.items() if name != ATTACHMENTS}
            whole = FileResolver(read_table, read_schema, roots, above).resolve(filled, folder)
            submission = Submission.from_document(_with_options(whole, rest))
            return submission.model_copy(update={"inputs": values, "attachments": attachments})

    def inputs(self) -> tuple[SessionInput, ...]:
        """Return the inputs that the file declares.

        Raises:
            InvalidSessionFile: The file is no table, or a declaration breaks a rule.
        """
        document = self.document()
        with self.name_file_in_errors():
            return read_inputs(document)

    def document_with_defaults(self) -> dict[str, Any]:
        """Return the table of the file, with the defaults of its inputs in its texts.

        Raises:
            InvalidSessionFile: The file is no table, or an input has no default.
        """
        document = self.document()
        with self.name_file_in_errors():
            return fill_inputs(document, None)[0]

    def document(self) -> dict[str, Any]:
        """Return the table of the file, as it is written.

        Raises:
            InvalidSessionFile: The file is no table, or exceeds a limit.
        """
        document = self.content()
        if not isinstance(document, dict):
            raise InvalidSessionFile(
                self.name, rule="must be a table with title, purpose, mode and participants"
            )
        return document

    def content(self) -> object:
        """Return what the file contains: YAML or JSON.

        Raises:
            InvalidSessionFile: The file is neither, or exceeds a limit.
        """
        content = self._parse()
        if depth_of(content) >= MAX_DEPTH:
            raise InvalidSessionFile(
                self.name, rule=f"must not nest tables and lists deeper than {MAX_DEPTH} levels"
            )
        return content

    @contextmanager
    def name_file_in_errors(self) -> Iterator[None]:
        """Convert InvalidInput inside the block to an error that names this file and the line."""
        try:
            yield
        except InvalidSessionFile:
            raise
        except InvalidInput as error:
            self._refuse(str(error), line_of(self.text, error.field), error)

    def _parse(self) -> object:
        is_json = self.name.endswith(".json")
        if is_json or self.text.lstrip().startswith("{"):
            try:
                return read_json(self.text)
            except json.JSONDecodeError as error:
                # A YAML document may begin with a brace, too.
                if is_json:
                    self._refuse(f"is not JSON: {error.msg}", error.lineno)
            except OverLimit as error:
                self._refuse(str(error), error.line)
            except (ValueError, RecursionError) as error:
                self._refuse(f"is not JSON: {error}", None)
        try:
            return read_yaml(self.text)
        except NotYaml as error:
            self._refuse(f"is not YAML: {error}", error.line)
        except OverLimit as error:
            self._refuse(str(error), error.line)

    def _refuse(self, rule: str, line: int | None, cause: Exception | None = None) -> NoReturn:
        location = self.name if line is None else f"{self.name}:{line}"
        raise InvalidSessionFile(location, rule=rule) from cause


def roots_of(folder: Path, root: Path | None) -> tuple[Path, ...]:
    """Return the folders below which a file in `folder` may name files; `root`: another one, if any."""
    return (folder,) if root is None else (folder, root)


def _read_attachments(paths: object, folder: Path, roots: Sequence[Path]) -> tuple[Attachment, ...]:
    """Return the files that a session file names, relative to its folder."""
    if paths is None:
        return ()
    if not isinstance(paths, list) or not all(isinstance(path, str) and path.strip() for path in paths):
        raise InvalidInput(ATTACHMENTS, paths, "must be a list of paths")
    located = [
        locate(folder, path, field=f"{ATTACHMENTS}[{at}]", roots=roots) for at, path in enumerate(paths)
    ]
    read: list[Attachment] = []
    for path, file in islice(zip(paths, located, strict=True), MAX_PER_MESSAGE + 1):
        try:
            read += read_given([file])
        except InvalidInput as error:
            raise InvalidInput(error.field, path, error.rule) from None  # as the session file names it
    return read_given(read)


def read_submission(path: Path, how: Mapping[str, Any], *, root: Path | None = None) -> Submission:
    """Return the submission of a session file.

    Args:
        path: The file; `-` is a file of this name.
        how: Options of `submit`, which replace those of the file, and `inputs`; None: not given.
        root: Folder below which it may name files, besides its own.

    Raises:
        InvalidSessionFile: The file, or a value for it, breaks a rule.
    """
    options = {name: value for name, value in how.items() if name != FIELD and value is not None}
    name = f"./{path}" if str(path) == STDIN else str(path)
    return SessionFile.open(name, root=root).submission(how.get(FIELD), options)


def _with_options(document: Mapping[str, Any], options: Mapping[str, Any]) -> dict[str, Any]:
    """Return a document with other options; an agent is replaced by participant."""
    whole = {**document, **options}
    if isinstance(own := document.get("agents"), Mapping) and isinstance(
        given := options.get("agents"), Mapping
    ):
        whole["agents"] = {**own, **given}
    return whole


def ignore_path(_path: Path) -> None:
    """Do nothing with the path of a file that is read."""


def read_session_document(path: Path, *, on_read: Callable[[Path], object] = ignore_path) -> dict[str, Any]:
    """Return the content of a session file, with the session files that it names in their places.

    `on_read`: called with the path of each file before it is read.

    Raises:
        InvalidSessionFile: A file cannot be read, breaks a rule, contains itself, or is nested too deep.
    """

    def read_session(file: Path) -> dict[str, Any]:
        on_read(file)
        return read_table(file)

    def read_output_schema(file: Path) -> object:
        on_read(file)
        return read_schema(file)

    # The operator's agents file names it.
    return FileResolver(read_session, read_output_schema, roots=()).read_file(path)


def with_session_files(agents: Mapping[str, Any], *, root: Path | None = None) -> dict[str, Any]:
    """Return the agents of a submission, with the session files that they name in their places.

    Names are relative to the working folder; the files must be below it or `root`.

    Raises:
        InvalidInput: A file cannot be read, breaks a rule, contains itself, or is nested too deep.
    """
    resolver = FileResolver(read_table, read_schema, roots=roots_of(Path(), root))
    resolved: dict[str, Any] = resolver.resolve({"agents": agents}, Path())["agents"]
    return resolved


def read_table(path: Path) -> dict[str, Any]:
    """Return the table of a session file, with the defaults of its inputs in its texts."""
    return SessionFile.open(str(path)).document_with_defaults()


def read_schema(path: Path) -> object:
    """Return the content of a file with a JSON schema."""
    return SessionFile.open(str(path)).content()


def _head(path: Path) -> bytes:
    # Without waiting for the writer of a pipe.
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
    with os.fdopen(descriptor, "rb") as file:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise InvalidSessionFile(str(path), rule="must be a regular file; `-` is standard input")
        return file.read(MAX_BYTES + 1)

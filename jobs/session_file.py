"""Reader of session files, for `symposia run FILE` and `symposia submit FILE`.

    title: A haiku about queues
    purpose: Write a haiku about message queues that a poet would sign.
    mode: pair
    participants:
      - {participant_id: poet, agent: local}
      - {participant_id: editor, agent: local}
    stop: {max_rounds: 2}

A file is YAML or JSON. Its fields are those of a collab, with `agent` at each participant, and those of
`models.sessions.submission.Submission`. `output_schema: FILE` names a file with the JSON schema of the output.
"""

from __future__ import annotations

import json
import re
import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import NoReturn

from ..models.errors import InvalidInput, InvalidSessionFile
from ..models.sessions.submission import Submission
from ..models.text.json_text import depth_of
from .strict_yaml import MAX_DEPTH, MAX_VALUES, NotYaml, OverLimit, line_of, read_yaml

#: Maximum bytes of a session file.
MAX_BYTES = 16 * 1024 * 1024
#: Path of standard input.
STDIN = "-"
_STDIN_NAME = "standard input"
#: Field with the path of a JSON schema, relative to the session file.
_SCHEMA_FILE = "output_schema"
#: The character before each key and value of a JSON text, or a whole string, even if it is not terminated.
_JSON_TOKEN = re.compile(r'[\[{,:]|"(?:[^"\\]++|\\.)*+"?', re.DOTALL)


@dataclass(frozen=True, slots=True)
class SessionFile:
    """The text of a session file."""

    #: Name of the file in messages.
    name: str
    text: str

    @classmethod
    def open(cls, path: str) -> SessionFile:
        """Read a file, or standard input for `-`.

        Raises:
            InvalidSessionFile: The file cannot be read, is not UTF-8 text, or is too large.
        """
        name = _STDIN_NAME if path == STDIN else path
        try:
            raw = sys.stdin.buffer.read(MAX_BYTES + 1) if path == STDIN else _head(Path(path))
            text = raw.decode()
        except OSError as error:
            raise InvalidSessionFile(name, rule=f"cannot be read: {error.strerror}") from None
        except UnicodeDecodeError:
            raise InvalidSessionFile(name, rule="must be valid UTF-8 text") from None
        if len(raw) > MAX_BYTES:
            raise InvalidSessionFile(name, rule=f"must be at most {MAX_BYTES} bytes")
        return cls(name, text.removeprefix("\ufeff"))

    def submission(self) -> Submission:
        """Return the submission of the file.

        Raises:
            InvalidSessionFile: The file breaks a rule; the error names the line if it is known.
        """
        document = self._document()
        if not isinstance(document, dict):
            raise InvalidSessionFile(
                self.name, rule="must be a table with title, purpose, mode and participants"
            )
        if depth_of(document) >= MAX_DEPTH:
            raise InvalidSessionFile(
                self.name, rule=f"must not nest tables and lists deeper than {MAX_DEPTH} levels"
            )
        with self.name_file_in_errors():
            return Submission.from_document(self._with_schema(document))

    def _with_schema(self, document: dict[str, object]) -> dict[str, object]:
        """Return the document with the JSON schema of the file that `output_schema` names, as its `output`."""
        if _SCHEMA_FILE not in document:
            return document
        path = document[_SCHEMA_FILE]
        if not isinstance(path, str) or not path.strip():
            raise InvalidInput(_SCHEMA_FILE, path, "must be the path of a JSON file")
        if "output" in document:
            raise InvalidInput(_SCHEMA_FILE, path, "must not be set together with `output`")
        folder = Path() if self.name == _STDIN_NAME else Path(self.name).parent
        schema = SessionFile.open(str(folder / path))._document()  # noqa: SLF001 - of this class
        rest = {name: value for name, value in document.items() if name != _SCHEMA_FILE}
        return {**rest, "output": schema}

    @contextmanager
    def name_file_in_errors(self) -> Iterator[None]:
        """Convert InvalidInput inside the block to an error that names this file and the line."""
        try:
            yield
        except InvalidSessionFile:
            raise
        except InvalidInput as error:
            self._refuse(str(error), line_of(self.text, error.field), error)

    def _document(self) -> object:
        is_json = self.name.endswith(".json")
        if is_json or self.text.lstrip().startswith("{"):
            if _has_too_many_values(self.text):
                self._refuse(f"must contain at most {MAX_VALUES:,} keys and values", None)
            try:
                return json.loads(self.text, object_pairs_hook=_without_repeats, parse_constant=_no_constant)
            except json.JSONDecodeError as error:
                # A YAML document may begin with a brace, too.
                if is_json:
                    self._refuse(f"is not JSON: {error.msg}", error.lineno)
            except (ValueError, RecursionError) as error:
                self._refuse(f"is not JSON: {error}", None)
        try:
            return read_yaml(self.text)
        except NotYaml as error:
            self._refuse(f"is not YAML: {error}", error.line)
        except OverLimit as error:
            self._refuse(str(error), error.line)

    def _refuse(self, rule: str, line: int | None, cause: Exception | None = None) -> NoReturn:
        place = self.name if line is None else f"{self.name}:{line}"
        raise InvalidSessionFile(place, rule=rule) from cause


def _head(path: Path) -> bytes:
    with path.open("rb") as file:
        return file.read(MAX_BYTES + 1)


def _has_too_many_values(text: str) -> bool:
    """Return whether a JSON text has more keys and values than allowed, without building them."""
    separators = (it for it in _JSON_TOKEN.finditer(text) if it[0][0] != '"')
    return next(islice(separators, MAX_VALUES, None), None) is not None


def _without_repeats(pairs: list[tuple[str, object]]) -> dict[str, object]:
    table = dict(pairs)
    if len(table) < len(pairs):
        keys = Counter(key for key, _ in pairs)
        repeated = next(key for key, count in keys.items() if count > 1)
        raise ValueError(f"duplicate key {repeated!r}")
    return table


def _no_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not a number")

"""The files that a session names, put in their places: those of its sub-sessions and of the schema of its output.

A job contains the content of these files, never their names: workers open no file of a job.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, cast

from ..models.errors import InvalidInput, InvalidSessionFile
from ..models.outputs import read_schema
from ..models.sessions.submission import Submission
from ..models.sessions.subsession_limits import DEEPEST, TOO_DEEP
from ..models.sessions.subsessions import check_document, session_holders

#: Field with the path of a JSON schema, relative to the session file.
SCHEMA_FILE = "output_schema"


def locate(folder: Path, name: str, *, field: str, roots: Sequence[Path]) -> Path:
    """Return the path of a file that a session names, with symbolic links resolved.

    A session may come from outside, and must not read any file of this machine.

    Args:
        folder: The folder to which the name is relative.
        name: The path as the session names it.
        field: Field for the error.
        roots: Folders below which the file must be; empty: anywhere.

    Raises:
        InvalidInput: The file is in another folder.
    """
    try:
        path = (folder / name).resolve()
    except (OSError, ValueError, RuntimeError):
        raise InvalidInput(field, name, "must be the path of a file") from None
    if roots and not any(path.is_relative_to(root.resolve()) for root in roots):
        rule = "must be a file below the folder of the session file, or below SYMPOSIA_SESSION_ROOT"
        raise InvalidInput(field, name, rule)
    return path


@dataclass(frozen=True, slots=True)
class FileResolver:
    """Puts the content of session files in the places of their names."""

    #: Returns the table of one session file.
    read: Callable[[Path], Mapping[str, Any]]
    #: Returns the content of a file with a JSON schema.
    read_schema: Callable[[Path], object]
    #: Folders below which the files must be; empty: anywhere.
    roots: tuple[Path, ...]
    #: The files that contain the current one, the outermost first.
    above: tuple[Path, ...] = ()

    def read_file(self, path: Path) -> dict[str, Any]:
        """Return the content of a session file, with the files that it names in their places.

        Raises:
            InvalidSessionFile: A file cannot be read, breaks a rule, contains itself, or is nested too deep.
        """
        whole = path.resolve()
        if whole in self.above:
            circle = " -> ".join(file.name for file in (*self.above[self.above.index(whole) :], whole))
            raise InvalidSessionFile(str(path), rule=f"must not contain itself: {circle}")
        if len(self.above) > DEEPEST:
            raise InvalidSessionFile(str(path), rule=TOO_DEEP)
        inside = replace(self, above=(*self.above, whole))
        return inside.resolve(self.read(path), path.parent)

    def resolve(self, document: Mapping[str, Any], folder: Path) -> dict[str, Any]:
        """Return the document of a session, with the files that it names, relative to `folder`, in their places.

        Raises:
            InvalidInput: A file cannot be read or breaks a rule, or a sub-session has a field that it inherits.
        """
        inside = {id(holder): where for where, holder in session_holders(document)}

        def filled(holder: Any) -> Any:
            if id(holder) not in inside:
                return holder
            return {**holder, "session": self._document(holder["session"], inside[id(holder)], folder)}

        def participant(entry: Any) -> Any:
            if isinstance(entry, Mapping) and id(entry.get("agent")) in inside:
                return {**entry, "agent": filled(entry["agent"])}
            return filled(entry)

        whole = dict(document)
        if isinstance(agents := document.get("agents"), Mapping):
            whole["agents"] = {name: filled(binding) for name, binding in agents.items()}
        if isinstance(participants := document.get("participants"), list):
            whole["participants"] = [participant(entry) for entry in participants]
        if SCHEMA_FILE in whole:
            whole["output"] = self._schema(whole.pop(SCHEMA_FILE), folder, is_given="output" in whole)
        return whole

    def _schema(self, path: object, folder: Path, *, is_given: bool) -> object:
        if not isinstance(path, str) or not path.strip():
            raise InvalidInput(SCHEMA_FILE, path, "must be the path of a JSON file")
        if is_given:
            raise InvalidInput(SCHEMA_FILE, path, "must not be set together with `output`")
        file = locate(folder, path, field=SCHEMA_FILE, roots=self.roots)
        schema = self.read_schema(file)
        try:
            read_schema(cast("Mapping[str, Any]", schema))
        except InvalidInput:  # its rule repeats values
            raise InvalidSessionFile(str(file), rule="must contain a valid JSON schema") from None
        return schema

    def _document(self, session: Any, where: str, folder: Path) -> Any:
        if isinstance(session, str):
            file = locate(folder, session, field=where, roots=self.roots)
            try:
                document = dict(check_document(self.read_file(file), where))
                Submission.of_subsession(document, where)
            except InvalidSessionFile:
                raise
            except InvalidInput as error:  # without the value
                raise InvalidSessionFile(str(file), rule=error.rule) from None
            return document
        return self.resolve(check_document(session, where), folder)

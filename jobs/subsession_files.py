"""The files that a session names, put in their places: those of its sub-sessions and of the schema of its output.

A job contains the content of these files, never their names: workers open no file of a job.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..models.errors import InvalidInput, InvalidSessionFile
from ..models.sessions.subsession_limits import DEEPEST, TOO_DEEP
from ..models.sessions.subsessions import check_document, session_holders

#: Field with the path of a JSON schema, relative to the session file.
SCHEMA_FILE = "output_schema"


@dataclass(frozen=True, slots=True)
class FileResolver:
    """Puts the content of session files in the places of their names."""

    #: Returns the table of one session file.
    read: Callable[[Path], Mapping[str, Any]]
    #: Returns the content of a file with a JSON schema.
    read_schema: Callable[[Path], object]
    #: The files that contain the current one, the outermost first.
    above: tuple[Path, ...] = ()

    def read_file(self, path: Path) -> dict[str, Any]:
        """Return the content of a session file, with the files that it names in their places.

        Raises:
            InvalidSessionFile: A file cannot be read, breaks a rule, contains itself, or is nested too deep.
        """
        whole = path.resolve()
        if whole in self.above:
            circle = " -> ".join(it.name for it in (*self.above[self.above.index(whole) :], whole))
            raise InvalidSessionFile(str(path), rule=f"must not contain itself: {circle}")
        if len(self.above) > DEEPEST:
            raise InvalidSessionFile(str(path), rule=TOO_DEEP)
        inside = FileResolver(self.read, self.read_schema, (*self.above, whole))
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
        return self.read_schema(folder / path)

    def _document(self, session: Any, where: str, folder: Path) -> Any:
        if isinstance(session, str):
            return dict(check_document(self.read_file(folder / session), where))
        return self.resolve(check_document(session, where), folder)

"""Session files whose inputs get values later: for the cases of an evaluation.

The files that a session names are put in their places at once. Their texts are escaped, because the inputs of the
session do not count in them: `fill_texts` returns them as they were.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ..models.sessions.input_texts import check_texts, escape_texts
from ..models.sessions.inputs import FIELD
from .session_file import SessionFile, read_schema, read_table
from .subsession_files import FileResolver


def read_template(path: Path, *, roots: tuple[Path, ...]) -> dict[str, Any]:
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
        return resolve_template(document, path.parent, has_inputs=has_inputs, roots=roots, above=above)


def resolve_template(
    document: Mapping[str, Any],
    folder: Path,
    *,
    has_inputs: bool,
    roots: tuple[Path, ...],
    above: tuple[Path, ...] = (),
) -> dict[str, Any]:
    """Return a session, or changes of one, with the files that it names, relative to `folder`, in their places.

    Args:
        document: The session.
        folder: Folder of the names.
        has_inputs: Whether the session has inputs, which its texts name.
        roots: Folders below which the files must be.
        above: The file that contains the document.

    Raises:
        InvalidInput: A file cannot be read, breaks a rule, contains itself, or is nested too deep.
    """
    read = _read_escaped if has_inputs else read_table
    return FileResolver(read, read_schema, roots, above).resolve(document, folder)


def _read_escaped(path: Path) -> dict[str, Any]:
    return escape_texts(read_table(path))

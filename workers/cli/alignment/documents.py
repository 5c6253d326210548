"""Reading of the alignment documents that a command gets."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

Files = Annotated[
    list[str], typer.Argument(metavar="FILE...", help="Alignment documents; - reads standard input.")
]
STANDARD_INPUT = "-"


def read_document(name: str) -> str:
    """Return the text of a file or of standard input, with unchanged line ends.

    Raises:
        InvalidInput: the file cannot be read, or is not UTF-8 text.
    """
    from ....models.errors import InvalidInput

    try:
        data = sys.stdin.buffer.read() if name == STANDARD_INPUT else Path(name).read_bytes()
        return data.decode()
    except OSError as error:
        raise InvalidInput("FILE", name, f"cannot be read: {error.strerror}") from None
    except UnicodeDecodeError as error:
        raise InvalidInput("FILE", name, f"must be UTF-8 text, but byte {error.start} is invalid") from None

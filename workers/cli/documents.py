"""Reading the dialogue documents that a command is given."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

Files = Annotated[
    list[str], typer.Argument(metavar="FILE...", help="Dialogue documents; - is standard input.")
]
STANDARD_INPUT = "-"


def read_document(name: str) -> str:
    """The text of a file, its line ends as they are.

    Raises:
        InvalidInput: it cannot be read, or is not UTF-8 text.
    """
    from ...models.errors import InvalidInput

    try:
        data = sys.stdin.buffer.read() if name == STANDARD_INPUT else Path(name).read_bytes()
        return data.decode()
    except OSError as error:
        raise InvalidInput("FILE", name, f"must be a file that can be read: {error.strerror}") from None
    except UnicodeDecodeError as error:
        raise InvalidInput("FILE", name, f"must be UTF-8 text; byte {error.start} is not") from None

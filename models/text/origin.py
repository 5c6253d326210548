"""Origin of an agent's exception."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class ErrorOrigin:
    """The innermost frame of an exception in the agent's own code; holds no values of variables.

    Attributes:
        error_type: class name of the exception.
        file: path of the source file below its import root, such as `my_agents/tools.py`.
        line: line number, from 1.
        traceback: text for the log of the worker, bounded, without secrets.
    """

    error_type: str
    file: str
    line: int
    traceback: str

    @property
    def place(self) -> str:
        """`file:line`."""
        return f"{self.file}:{self.line}"

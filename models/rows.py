"""Results as rows: plain Python data, or a frame of pandas."""

from __future__ import annotations

from abc import ABC, abstractmethod
from importlib import import_module
from typing import Any

from .errors import MissingPackage


class Rows(ABC):
    """What can be read as a table."""

    __slots__ = ()

    @abstractmethod
    def to_rows(self) -> list[dict[str, Any]]:
        """Return the rows, each a table of its columns."""

    def to_frame(self) -> Any:
        """Return the rows as a `pandas.DataFrame`.

        Raises:
            MissingPackage: pandas is not installed.
        """
        try:
            pandas = import_module("pandas")
        except ModuleNotFoundError as error:
            raise MissingPackage("to_frame", package="pandas") from error
        return pandas.DataFrame(self.to_rows())

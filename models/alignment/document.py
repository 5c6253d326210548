"""The former place of `symposia.alignment.document`, for programs that were written for release 0.1.0."""

import sys
from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:

    def __getattr__(name: str) -> Any: ...


sys.modules[__name__] = import_module("symposia.alignment.document")  # by name: it is above this package

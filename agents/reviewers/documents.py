"""The reviewers of `symposia.reviews.reviewers.documents`, under the name that agents files use."""

import sys
from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:

    def __getattr__(name: str) -> Any: ...


sys.modules[__name__] = import_module(
    "symposia.reviews.reviewers.documents"
)  # by name: it is above this package

"""The program `symposia.reviews.reviewers.spelling`, under the name that agents files use."""

import sys
from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:

    def __getattr__(name: str) -> Any: ...


reviewer = import_module("symposia.reviews.reviewers.spelling")  # by name: it is above this package
if __name__ == "__main__":
    reviewer.main()
else:
    sys.modules[__name__] = reviewer

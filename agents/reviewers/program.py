"""The program `symposia.reviews.reviewers.program`, under the name that agents files use."""

import sys
from importlib import import_module

reviewer = import_module("symposia.reviews.reviewers.program")  # by name: it is above this package
if __name__ == "__main__":
    reviewer.main()
else:
    sys.modules[__name__] = reviewer

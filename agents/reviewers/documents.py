"""The reviewers of `symposia.reviews.reviewers.documents`, under the name that agents files use."""

import sys
from importlib import import_module

sys.modules[__name__] = import_module(
    "symposia.reviews.reviewers.documents"
)  # by name: it is above this package

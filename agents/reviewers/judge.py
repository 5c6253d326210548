"""The reviewers of `symposia.reviews.reviewers.judge`, under the name that agents files use."""

import sys
from importlib import import_module

sys.modules[__name__] = import_module("symposia.reviews.reviewers.judge")  # by name: it is above this package

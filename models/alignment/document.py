"""The former place of `symposia.alignment.document`, for programs that were written for release 0.1.0."""

import sys
from importlib import import_module

sys.modules[__name__] = import_module("symposia.alignment.document")  # by name: it is above this package

"""The errors of a run."""


class BenchmarkError(Exception):
    """A case did not do what it measures."""


class SkippedCase(Exception):
    """A case needs something that is not installed."""

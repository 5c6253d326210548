"""The checks of `symposia doctor`."""

"""Bootsteps of a worker process: runtime, sweep and other background loops."""

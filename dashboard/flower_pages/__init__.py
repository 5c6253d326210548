"""Flower's own pages: turns of sessions in the list of tasks, and the lengths of queues."""

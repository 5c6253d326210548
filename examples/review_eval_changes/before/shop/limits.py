"""Limits of requests, used by the views until version 2."""


def check_rate(counter, client):
    if counter.of(client) > 100:
        raise RuntimeError("too many requests")

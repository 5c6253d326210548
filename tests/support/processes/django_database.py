"""Sessions of a process that uses Django's database: agents query it; between two sessions all its connections are lost.

Arguments: URL of the PostgreSQL, kind of the agent. Prints how often the agent was called in each session.
"""

from __future__ import annotations

import sys
from typing import Any
from urllib.parse import urlsplit

import django
import psycopg
from asgiref.sync import sync_to_async
from django.conf import settings

from scaling import patient
from symposia import LocalClient, MaxTurns

SESSIONS = 3
THREADS = 4

calls = 0


def query() -> str:
    from django.db import connection

    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_backend_pid()")
        return f"backend {cursor.fetchone()[0]}"


def sync_agent(_turn: object) -> str:
    global calls  # noqa: PLW0603
    calls += 1
    return query()


async def async_agent(_turn: object) -> str:
    global calls  # noqa: PLW0603
    calls += 1
    return await sync_to_async(query)()


def main(url: str, kind: str) -> None:
    server = urlsplit(url)
    options: dict[str, Any] = {"CONN_MAX_AGE": None, "ENGINE": "django.db.backends.postgresql"}
    options |= {
        "HOST": server.hostname,
        "PORT": server.port,
        "USER": server.username,
        "NAME": server.path[1:],
    }
    settings.configure(DATABASES={"default": options})
    django.setup()
    agent = sync_agent if kind == "sync" else async_agent
    with LocalClient({"ann": agent}, threads=THREADS) as client:
        for _ in range(SESSIONS):
            before = calls
            collab = {
                "title": "T",
                "purpose": "P",
                "mode": "round_robin",
                "participants": [{"participant_id": "ann", "role_id": "ann"}],
            }
            job = client.submit(
                collab, agents={"ann": "ann"}, stop=MaxTurns(4), policy={"attempts": 3, "backoff_s": 0.05}
            )
            result = job.result(timeout=patient(60))
            sys.stdout.write(f"{result.reason} {calls - before}\n")
            with psycopg.connect(url, autocommit=True) as other:
                other.execute(
                    "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid <> pg_backend_pid()"
                )


main(*sys.argv[1:])

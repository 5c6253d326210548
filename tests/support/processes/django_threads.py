"""Asynchronous agents of two sessions that use Django's database at the same time: prints how their sessions ended.

The last line is the number of database connections that are open after the turns.
"""

from __future__ import annotations

import sys
import threading
from typing import Any

import django
from asgiref.sync import sync_to_async
from django.conf import settings

from live import until
from scaling import patient
from symposia import LocalClient, MaxTurns

SESSIONS = 2

meeting = threading.Barrier(SESSIONS)
used: list[Any] = []


def query() -> str:
    from django.db import connections

    with connections["default"].cursor() as cursor:
        cursor.execute("SELECT 1")
    used.append(connections["default"])
    meeting.wait(patient(10))
    return "Met."


async def agent(_turn: object) -> str:
    return await sync_to_async(query)()


def main(database: str) -> None:
    options = {"CONN_MAX_AGE": None, "ENGINE": "django.db.backends.sqlite3", "NAME": database}
    settings.configure(DATABASES={"default": options})
    django.setup()
    collab = {"title": "T", "purpose": "P", "mode": "round_robin"}
    collab |= {"participants": [{"participant_id": "ann"}]}
    with LocalClient({"ann": agent}) as client:
        jobs = [client.submit(collab, stop=MaxTurns(2), policy={"attempts": 1}) for _ in range(SESSIONS)]
        for job in jobs:
            sys.stdout.write(f"{job.result(timeout=patient(60)).reason}\n")
    until(lambda: all(wrapper.connection is None for wrapper in used), what="all connections are closed")
    sys.stdout.write(f"{len(used)} connections closed\n")


main(*sys.argv[1:])

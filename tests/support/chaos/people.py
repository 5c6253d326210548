"""People in the sessions of an arena: they read their inbox and answer."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING
from uuid import uuid4

from redis.exceptions import RedisError

from symposia.models.errors import LifecycleError, SessionError, StateError

if TYPE_CHECKING:
    from symposia.client import Client
    from symposia.models.turns.waiting import Pending

#: People refuse what contains this text.
UNWANTED = "a yacht"
#: Seconds between two looks.
_PATIENCE_S = 0.1


class People:
    """Answers every question there is, from a thread, until closed; each answer is noted as agents note theirs.

    `client`: the one to be used now, since the server may be another one later.
    """

    def __init__(self, client: Callable[[], Client], log: Path) -> None:
        self._client = client
        self._log = log
        self._closed = threading.Event()
        self._thread = threading.Thread(target=self._run, name="chaos-people", daemon=True)
        self._thread.start()

    def close(self) -> None:
        """Ends the thread."""
        self._closed.set()
        self._thread.join()

    def _run(self) -> None:
        while not self._closed.is_set():
            # What happens to a server happens to people, too: they try again later.
            with suppress(RedisError, StateError, OSError):
                for question in self._client().inbox():
                    # Another answer, the end of the session or a pause came first.
                    with suppress(SessionError, LifecycleError):
                        self._answer(question)
            time.sleep(_PATIENCE_S)

    def _answer(self, question: Pending) -> None:
        job = self._client().get_job(question.session_id)
        if question.question.choices:  # of a guard or a tool: a decision is not a message
            decision = question.question.choices[int(UNWANTED in question.question.text)]
            job.reply(question.asked[0], decision, token=question.reply_token)
            return
        nonce = uuid4().hex
        line = {
            "session": question.session_id,
            "turn": question.turn_number,
            "participant": question.participant,
            "nonce": nonce,
            "seen": [message.turn_number for message in job.messages() if message.turn_number],
            "item": None,
            "effect": "",
            "usage": dict.fromkeys(("input_tokens", "output_tokens", "requests", "cost_micros"), 0),
            "pid": 0,
        }
        with self._log.open("a") as file:
            file.write(json.dumps(line) + "\n")
        job.reply(question.participant, f"I say [{nonce}]", token=question.reply_token)

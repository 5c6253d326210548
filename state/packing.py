"""A command as the bytes that are sent.

hiredis asks for the text of a number where Python sees to signals, and does not look whether it got one: with 3.5.0 a
process ends in a segmentation fault when a signal comes while such a command is packed and its handler raises, as for
Ctrl-C. So it gets texts alone. To go when hiredis holds: `tests/state/test_interrupted.py` fails without it until then.
"""

from __future__ import annotations

from typing import Any

from redis.connection import HiredisRespSerializer


class _WithoutNumbers(HiredisRespSerializer):
    def pack(self, *command: Any) -> list[bytes]:
        """The command, in one piece. Raises DataError: a value that is no text, bytes or number."""
        texts: list[Any] = [repr(value) if type(value) in (int, float) else value for value in command]
        return super().pack(*texts)  # type: ignore[no-any-return]


#: What a connection of redis-py takes as its `command_packer`.
PACKER = _WithoutNumbers()

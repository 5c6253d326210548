"""Commands as bytes, without numbers for hiredis.

hiredis 3.5.0 asks Python for the text of a number and does not check the result. Python runs signal handlers there: if
a handler raises, as for Ctrl-C, the process ends in a segmentation fault. So hiredis gets texts only.

Upstream: no issue found. Remove this module when `test_hiredis_crashes_if_a_number_has_no_text` fails and
`tests/state/test_interrupted.py` passes without it.
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

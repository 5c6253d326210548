"""Puts the clock of a whole Python process wrong, before anything else is imported: CHAOS_CLOCK_S seconds ahead.

Found by workers that have this folder on their path. The clock that counts seconds since the start
(`time.monotonic`) runs as it does: so it does on a machine whose time is wrong.
"""

import os
import time

_true = time.time
_ahead_s = float(os.environ.get("CHAOS_CLOCK_S", "0"))
time.time = lambda: _true() + _ahead_s

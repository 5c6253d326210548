"""Environment variables that tell the plugin what to do."""

from __future__ import annotations

#: A file with `script` and `text`: the mutant that takes the place of a script.
MUTANT = "LUA_MUTANT"
#: A file for what is recorded: by test, its time in seconds and its scripts.
RECORD = "LUA_RECORD"

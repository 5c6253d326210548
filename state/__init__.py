"""The live session in Redis: keys, Lua verbs, and the stores that call them."""

--- lib/status: the final statuses of a session.
--- USES:

local FINAL = { completed = true, cancelled = true }

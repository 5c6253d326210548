--- lib/limits: reservations of open turns in the session's limits.
--- USES:

--- Set what an open turn reserves of the session's limits. Without limits it stays zero.
local function reserve(session, turn, unit, amount)
  local name = 'reserved_' .. unit
  local before = turn[name] or 0
  if amount == before then return end
  redis.call('HINCRBY', session, name, amount - before)
  turn[name] = amount > 0 and amount or nil
end

--- Release the reservation of a turn: its spending is in the session's counters.
local function release_reservation(session, turn)
  reserve(session, turn, 'tokens', 0)
  reserve(session, turn, 'cost', 0)
end

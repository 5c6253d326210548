--- lib/limits: what open turns reserve of the session's limits.
--- USES:

--- Sets what an open turn reserves of the session's limits. Without limits it stays zero.
local function hold(session, turn, unit, amount)
  local name = 'reserved_' .. unit
  local before = turn[name] or 0
  if amount == before then return end
  redis.call('HINCRBY', session, name, amount - before)
  turn[name] = amount > 0 and amount or nil
end

--- Releases everything that a turn has reserved: its spending is in the session's counters.
local function give_back(session, turn)
  hold(session, turn, 'tokens', 0)
  hold(session, turn, 'cost', 0)
end

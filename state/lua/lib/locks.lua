--- lib/locks: the locks of turns.
--- USES:

--- The value of a lock is `token|deadline_ms`: the holder, and the time after which no renewal can extend it.
local function lock_owner(lock)
  local value = redis.call('GET', lock)
  if not value then return nil end
  local token, deadline = string.match(value, '^(.-)|(%d+)$')
  return token, tonumber(deadline)
end

--- Locks by the token of their holder.
local function holders(locks)
  local held = {}
  for _, lock in ipairs(locks) do held[lock_owner(lock) or ''] = lock end
  return held
end

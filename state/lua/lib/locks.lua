--- lib/locks: the locks of turns.
--- USES:

--- Return the holder of a lock and its deadline. The value of a lock is `token|deadline_ms`; no renewal extends it
--- past the deadline.
local function lock_owner(lock)
  local value = redis.call('GET', lock)
  if not value then return nil end
  local token, deadline = string.match(value, '^(.-)|(%d+)$')
  return token, tonumber(deadline)
end

--- Return a table of locks by the token of their holder.
local function locks_by_holder(locks)
  local held = {}
  for _, lock in ipairs(locks) do held[lock_owner(lock) or ''] = lock end
  return held
end

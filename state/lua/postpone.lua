--- postpone: sets the time of the next look at a session that was claimed.
--- KEYS: due
--- ARGV: session due_ms
--- ANSWERS: postponed kept
--- GUARANTEE: never later than a time that somebody asked for since the claim; a session that has left
--- the index stays out of it.
local time = tonumber(redis.call('ZSCORE', due, session) or nil)
local is_claimed = time and time % 1 == 0.5
if not time or (not is_claimed and time <= tonumber(due_ms)) then return { 'kept' } end
redis.call('ZADD', due, due_ms, session)
return { 'postponed' }

--- drop: takes a session that was claimed and is not there off the index.
--- KEYS: due
--- ARGV: session
--- ANSWERS: dropped kept
--- GUARANTEE: one that somebody has entered, or asked a look at, since the claim stays.
local time = tonumber(redis.call('ZSCORE', due, session) or nil)
if not time or time % 1 ~= 0.5 then return { 'kept' } end
redis.call('ZREM', due, session)
return { 'dropped' }

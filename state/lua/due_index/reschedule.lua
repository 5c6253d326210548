--- due_index/reschedule: sets the time of the next look at a session.
--- KEYS: due
--- ARGV: session due_ms entering
--- USES:
--- ANSWERS: postponed kept
--- GUARANTEE: for a claimed session, never later than a time that was requested since the claim. A session that was
--- removed from the index stays out of it, unless it is entered (`entering`).
local time = tonumber(redis.call('ZSCORE', due, session) or nil)
local is_claimed = time and time % 1 == 0.5
if time == nil and entering ~= '1' then return { 'kept' } end
if time and not is_claimed and time <= tonumber(due_ms) then return { 'kept' } end
redis.call('ZADD', due, due_ms, session)
return { 'postponed' }

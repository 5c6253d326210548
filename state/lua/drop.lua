--- drop: takes what was not found off an index.
--- KEYS: due
--- ARGV: session time
--- ANSWERS: dropped kept
--- GUARANTEE: an entry that has changed since its time was read stays: somebody has entered it anew.
if tonumber(redis.call('ZSCORE', due, session) or nil) ~= tonumber(time) then return { 'kept' } end
redis.call('ZREM', due, session)
return { 'dropped' }

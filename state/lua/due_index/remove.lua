--- due_index/remove: removes an entry from an index if its session was not found.
--- KEYS: due
--- ARGV: session time
--- USES:
--- ANSWERS: dropped kept
--- GUARANTEE: an entry that has changed since its time was read stays, because its session was entered again.
if tonumber(redis.call('ZSCORE', due, session) or nil) ~= tonumber(time) then return { 'kept' } end
redis.call('ZREM', due, session)
return { 'dropped' }

--- schedules/put: writes a new schedule, or replaces one.
--- KEYS: entry beat look
--- ARGV: name definition document source origin_ms mode score most format
--- USES: clock
--- ANSWERS: added replaced kept exists full
--- GUARANTEE: an existing schedule is replaced only on request (`replace`, `sync`). Times that were due up to
--- now count as done: a changed schedule does not catch up on them.
local old, old_source = unpack(redis.call('HMGET', entry, 'document', 'source'))
if old and mode == 'new' then return { 'exists' } end
if old == document and old_source == source then return { 'kept' } end
if not old and redis.call('ZCARD', look) >= tonumber(most) then return { 'full' } end
redis.call('HSET', entry, 'format', format, 'definition', definition, 'document', document, 'source', source, 'last_ms', NOW)
-- The grid of an interval does not move.
redis.call('HSETNX', entry, 'origin_ms', origin_ms)
if not redis.call('HGET', entry, 'paused') then redis.call('ZADD', beat, score, entry) end
redis.call('ZADD', look, 'LT', NOW, name)
if old then return { 'replaced' } end
return { 'added' }

--- schedule_tick: a beat notes that it has sent word of a schedule, and when it will again.
--- KEYS: entry beat
--- ARGV: meta score
--- ANSWERS: noted missing
--- GUARANTEE: a schedule that was removed or paused meanwhile does not come back.
local document, paused = unpack(redis.call('HMGET', entry, 'document', 'paused'))
if not document or paused then return { 'missing' } end
redis.call('HSET', entry, 'meta', meta)
redis.call('ZADD', beat, score, entry)
return { 'noted' }

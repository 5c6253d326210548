--- schedules/record_tick: records that a beat has sent a schedule, and when it will do so again.
--- KEYS: entry beat
--- ARGV: meta score
--- USES:
--- ANSWERS: noted missing
--- GUARANTEE: does not restore a schedule that was removed or paused meanwhile.
local document, paused = unpack(redis.call('HMGET', entry, 'document', 'paused'))
if not document or paused then return { 'missing' } end
redis.call('HSET', entry, 'meta', meta)
redis.call('ZADD', beat, score, entry)
return { 'noted' }

--- steps/count_message: counts a message of a step before it is sent again.
--- KEYS: step
--- ARGV: is_new
--- USES: clock
--- ANSWERS: counted(sends, now_ms) over
--- GUARANTEE: a step without a record gets none. `is_new`: the message is the first since the end of the session.
local stage = redis.call('HGET', step, 'stage')
if not stage or stage == 'done' then return { 'over' } end
if is_new == '1' then redis.call('HDEL', step, 'sends') end
redis.call('HSET', step, 'sent_ms', NOW)
return { 'counted', redis.call('HINCRBY', step, 'sends', 1), NOW }

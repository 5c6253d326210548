--- claim: takes sessions whose due time has passed off the index for a while.
--- KEYS: due
--- ARGV: limit hold_ms
--- ANSWERS: claimed(ids)
--- GUARANTEE: two sweeps at once look at different sessions; one that dies while looking loses nothing.
--- A time set here ends in half a millisecond, which tells it from one that somebody asked for.
local ids = redis.call('ZRANGEBYSCORE', due, '-inf', NOW, 'LIMIT', 0, limit)
for _, id in ipairs(ids) do redis.call('ZADD', due, 'XX', NOW + hold_ms + 0.5, id) end
return { 'claimed', ids }

--- due_index/claim: claims due sessions for a time.
--- KEYS: due
--- ARGV: limit hold_ms
--- USES: clock
--- ANSWERS: claimed(ids)
--- GUARANTEE: two concurrent sweeps get different sessions; if one dies, no session is lost.
--- A time set here ends in half a millisecond, which distinguishes it from a requested time.
local ids = redis.call('ZRANGEBYSCORE', due, '-inf', NOW, 'LIMIT', 0, limit)
for _, id in ipairs(ids) do redis.call('ZADD', due, 'XX', NOW + hold_ms + 0.5, id) end
return { 'claimed', ids }

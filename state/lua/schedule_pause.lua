--- schedule_pause: stops a schedule for a while, or lets it go on.
--- KEYS: entry beat look
--- ARGV: name paused
--- ANSWERS: done missing
--- GUARANTEE: what was due during the pause is not made up for. What runs or waits is not touched.
if redis.call('HEXISTS', entry, 'document') == 0 then return { 'missing' } end
if paused ~= '' then
  redis.call('HSET', entry, 'paused', '1')
  redis.call('ZREM', beat, entry)
elseif redis.call('HDEL', entry, 'paused') == 1 then
  redis.call('HSET', entry, 'last_ms', NOW)
  redis.call('ZADD', beat, 0, entry)
  redis.call('ZADD', look, 'LT', NOW, name)
end
return { 'done' }

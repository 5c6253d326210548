--- schedules/pause: pauses or resumes a schedule.
--- KEYS: entry beat look
--- ARGV: name paused
--- USES: clock
--- ANSWERS: done missing
--- GUARANTEE: times that were due during the pause are not caught up. Running and queued runs do not change.
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

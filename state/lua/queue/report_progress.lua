--- queue/report_progress: records how far a worker has come in the queue, and returns how far all of them have.
--- KEYS: taken
--- ARGV: newest_ms is_free ttl_ms
--- USES: clock
--- ANSWERS: taken(ms)
--- GUARANTEE: the time only rises, and is never later than now. If the server's clock was set back, the time follows.
--- `newest_ms`: sending time of the newest message that the worker took; 0: none. `is_free`: it could run another task.
local known = tonumber(redis.call('HGET', taken, 'taken_ms') or nil) or 0
local newest = math.min(tonumber(newest_ms), NOW)
if newest > known or known > NOW then
  known = known > NOW and NOW or newest
  redis.call('HSET', taken, 'taken_ms', known, 'moved_ms', NOW)
  redis.call('PEXPIRE', taken, ttl_ms)
end
if is_free == '1' then
  redis.call('HSET', taken, 'free_ms', NOW)
  redis.call('PEXPIRE', taken, ttl_ms)
end
return { 'taken', known }

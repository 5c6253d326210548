--- taken: tells how far the workers have come in the queue, and answers how far they all have.
--- KEYS: taken
--- ARGV: newest_ms ttl_ms
--- ANSWERS: taken(ms)
--- GUARANTEE: the time only rises, and is never later than now. When the server's clock was set back, it follows.
--- `newest_ms` is the sending time of the newest message that a worker took; 0: it took none.
local known = tonumber(redis.call('HGET', taken, 'taken_ms') or nil) or 0
local newest = math.min(tonumber(newest_ms), NOW)
if newest > known or known > NOW then
  known = known > NOW and NOW or newest
  redis.call('HSET', taken, 'taken_ms', known, 'moved_ms', NOW)
  redis.call('PEXPIRE', taken, ttl_ms)
end
return { 'taken', known }

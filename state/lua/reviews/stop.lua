--- reviews/stop: starts no further item of a batch; waiting items are cancelled.
--- KEYS: batch items waiting running
--- ARGV: outcome reason ttl_ms
--- USES:
--- ANSWERS: stopped(numbers) closed missing
--- GUARANTEE: the first reason counts. Findings so far stay; `numbers` are the items that are still running.
local state = redis.call('HGET', batch, 'state')
if not state then return { 'missing' } end
if state ~= 'running' and state ~= 'stopping' then return { 'closed' } end
if state == 'running' then
  redis.call('HSET', batch, 'state', 'stopping', 'outcome', outcome, 'reason', reason)
  for _, number in ipairs(redis.call('ZRANGEBYSCORE', waiting, '-inf', 'inf')) do
    redis.call('HSET', items, number .. ':state', 'cancelled')
    redis.call('HINCRBY', batch, 'cancelled', 1)
  end
  redis.call('DEL', waiting)
end
redis.call('PEXPIRE', batch, ttl_ms)
redis.call('PEXPIRE', items, ttl_ms)
redis.call('PEXPIRE', running, ttl_ms)
return { 'stopped', redis.call('ZRANGEBYSCORE', running, '-inf', 'inf') }

--- webhooks/send_again: queues a recorded delivery again that has its body.
--- KEYS: waiting queue list delivery
--- ARGV: id ttl_ms
--- USES: clock
--- ANSWERS: queued missing bodiless
--- GUARANTEE: the delivery keeps its id and its body; the time and the pauses of its retries begin now. It is listed as
--- the newest one.
local body = redis.call('HGET', delivery, 'body')
if not body then return { 'missing' } end
if body == '' then return { 'bodiless' } end
redis.call('HSET', delivery, 'state', 'waiting', 'error', '', 'attempts', 0, 'since_ms', NOW)
redis.call('PEXPIRE', delivery, ttl_ms)
redis.call('ZADD', waiting, NOW, id)
redis.call('PEXPIRE', waiting, ttl_ms)
redis.call('ZADD', queue, NOW, id)
redis.call('PEXPIRE', queue, ttl_ms)
redis.call('ZADD', list, NOW, id)
redis.call('PEXPIRE', list, ttl_ms)
return { 'queued' }

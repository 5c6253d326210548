--- webhooks/send_again: queues a recorded delivery again, whether it was delivered or has failed.
--- KEYS: queue list delivery waiting
--- ARGV: id ttl_ms
--- USES: clock
--- ANSWERS: queued missing
--- GUARANTEE: the delivery keeps its id and its body; the time and the pauses of its retries begin now. It is listed as
--- the newest one.
if redis.call('EXISTS', delivery) == 0 then return { 'missing' } end
redis.call('HSET', delivery, 'state', 'waiting', 'error', '', 'attempts', 0, 'since_ms', NOW)
redis.call('PEXPIRE', delivery, ttl_ms)
redis.call('ZADD', list, NOW, id)
redis.call('PEXPIRE', list, ttl_ms)
redis.call('ZADD', queue, NOW, id)
redis.call('PEXPIRE', queue, ttl_ms)
redis.call('ZADD', waiting, NOW, id)
redis.call('PEXPIRE', waiting, ttl_ms)
return { 'queued' }

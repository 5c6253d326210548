--- webhooks/send_again: queues a recorded delivery again, whether it was delivered or has failed.
--- KEYS: queue delivery
--- ARGV: id ttl_ms
--- USES: clock
--- ANSWERS: queued missing
--- GUARANTEE: the delivery keeps its id and its body; the time for its retries begins now.
if redis.call('EXISTS', delivery) == 0 then return { 'missing' } end
redis.call('HSET', delivery, 'state', 'waiting', 'error', '', 'since_ms', NOW)
redis.call('PEXPIRE', delivery, ttl_ms)
redis.call('ZADD', queue, NOW, id)
redis.call('PEXPIRE', queue, ttl_ms)
return { 'queued' }

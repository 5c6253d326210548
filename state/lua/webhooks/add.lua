--- webhooks/add: queues the delivery of an event to a webhook, once.
--- KEYS: queue list delivery waiting
--- ARGV: id webhook event subject body most most_of_one most_listed ttl_ms
--- USES: clock
--- ANSWERS: queued exists full
--- GUARANTEE: a repeated call changes nothing while the record exists, also after the delivery. A delivery that does not fit
--- into the queue is listed as failed. `waiting` has the deliveries to this webhook, without those whose record has expired.
if redis.call('EXISTS', delivery) == 1 then return { 'exists' } end
redis.call('ZREMRANGEBYSCORE', waiting, '-inf', NOW - ttl_ms)
local is_full, why = redis.call('ZCARD', queue) >= tonumber(most), 'the queue is full'
if redis.call('ZCARD', waiting) >= tonumber(most_of_one) then
  is_full, why = true, 'too many deliveries to this webhook are waiting'
end
redis.call('HSET', delivery, 'webhook', webhook, 'event', event, 'subject', subject, 'body', body, 'created_ms', NOW,
  'state', is_full and 'failed' or 'waiting', 'error', is_full and why or '', 'attempts', 0)
redis.call('PEXPIRE', delivery, ttl_ms)
redis.call('ZADD', list, NOW, id)
redis.call('ZREMRANGEBYRANK', list, 0, -tonumber(most_listed) - 1)
redis.call('PEXPIRE', list, ttl_ms)
if is_full then return { 'full' } end
redis.call('ZADD', queue, NOW, id)
redis.call('PEXPIRE', queue, ttl_ms)
redis.call('ZADD', waiting, NOW, id)
redis.call('PEXPIRE', waiting, ttl_ms)
return { 'queued' }

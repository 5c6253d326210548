--- webhooks/add: queues the delivery of an event to a webhook, once.
--- KEYS: waiting queue list delivery
--- ARGV: id webhook event subject body most most_of_one most_listed ttl_ms
--- USES: clock
--- ANSWERS: queued(unlisted) full(unlisted) exists
--- GUARANTEE: a repeated call changes nothing while the record exists, also after the delivery. A delivery that does not fit
--- is listed as failed, without its body. `waiting` has the waiting deliveries to all webhooks, `queue` those to this one, by
--- the time of the next attempt. `unlisted`: ids that have left the list and do not wait; the caller deletes their records.
if redis.call('EXISTS', delivery) == 1 then return { 'exists' } end
redis.call('ZREMRANGEBYSCORE', waiting, '-inf', NOW - ttl_ms)
redis.call('ZREMRANGEBYSCORE', queue, '-inf', NOW - ttl_ms)
local why = ''
if redis.call('ZCARD', waiting) >= tonumber(most) then
  why = 'the queue is full'
elseif redis.call('ZCARD', queue) >= tonumber(most_of_one) then
  why = 'too many deliveries to this webhook are waiting'
end
local fits = why == ''
redis.call('HSET', delivery, 'webhook', webhook, 'event', event, 'subject', subject, 'body', fits and body or '',
  'created_ms', NOW, 'state', fits and 'waiting' or 'failed', 'error', why, 'attempts', 0)
redis.call('PEXPIRE', delivery, ttl_ms)
if fits then
  redis.call('ZADD', waiting, NOW, id)
  redis.call('PEXPIRE', waiting, ttl_ms)
  redis.call('ZADD', queue, NOW, id)
  redis.call('PEXPIRE', queue, ttl_ms)
end
redis.call('ZADD', list, NOW, id)
redis.call('PEXPIRE', list, ttl_ms)
local unlisted = {}
for _, old in ipairs(redis.call('ZRANGE', list, 0, -tonumber(most_listed) - 1)) do
  redis.call('ZREM', list, old)
  if not redis.call('ZSCORE', waiting, old) then unlisted[#unlisted + 1] = old end
end
if fits then return { 'queued', unlisted } end
return { 'full', unlisted }

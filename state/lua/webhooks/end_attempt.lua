--- webhooks/end_attempt: records the end of an attempt to deliver an event.
--- KEYS: queue delivery waiting
--- ARGV: id state error retry_in_ms
--- USES: clock
--- ANSWERS: recorded missing
--- GUARANTEE: a delivery is in the queue and in `waiting` as long as its state is `waiting`. A delivery that was
--- delivered stays so, whatever a slower attempt says. A record that has expired is not written again.
local before = redis.call('HGET', delivery, 'state')
if not before then
  redis.call('ZREM', queue, id)
  redis.call('ZREM', waiting, id)
  return { 'missing' }
end
redis.call('HINCRBY', delivery, 'attempts', 1)
redis.call('HSET', delivery, 'tried_ms', NOW)
if before == 'delivered' then return { 'recorded' } end
redis.call('HSET', delivery, 'state', state, 'error', error)
if state == 'waiting' then
  redis.call('ZADD', queue, NOW + retry_in_ms, id)
else
  redis.call('ZREM', queue, id)
  redis.call('ZREM', waiting, id)
end
return { 'recorded' }

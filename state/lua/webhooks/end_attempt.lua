--- webhooks/end_attempt: records the end of an attempt to deliver an event.
--- KEYS: waiting queue list delivery
--- ARGV: id state error retry_in_ms
--- USES: clock
--- ANSWERS: recorded missing
--- GUARANTEE: a delivery is in `waiting` and in `queue` as long as its state is `waiting`. A slower attempt changes an end
--- only to `delivered`; then the record has no body any more. A record that has expired is not written again, and one
--- that is not listed any more is deleted at its end.
local before = redis.call('HGET', delivery, 'state')
if not before or state ~= 'waiting' then
  redis.call('ZREM', waiting, id)
  redis.call('ZREM', queue, id)
end
if not before then return { 'missing' } end
redis.call('HINCRBY', delivery, 'attempts', 1)
redis.call('HSET', delivery, 'tried_ms', NOW)
if before ~= 'waiting' and state ~= 'delivered' then return { 'recorded' } end
redis.call('HSET', delivery, 'state', state, 'error', error)
if state == 'waiting' then
  redis.call('ZADD', queue, NOW + retry_in_ms, id)
elseif not redis.call('ZSCORE', list, id) then
  redis.call('DEL', delivery)
elseif state == 'delivered' then
  redis.call('HSET', delivery, 'body', '')
end
return { 'recorded' }

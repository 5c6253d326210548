--- reviews/record_result: writes the result of an item, or queues it for another attempt.
--- KEYS: batch items waiting running
--- ARGV: number attempt outcome result tokens cost error ttl_ms
--- USES:
--- ANSWERS: settled(equal_errors) again(equal_errors) stale missing
--- GUARANTEE: each attempt counts once, however often its result is sent. A failed item is retried as often as
--- the batch says, unless the batch is being stopped. `error` names the error of a provider (empty: none);
--- `equal_errors` is the number of results in a row with this error.
local state = redis.call('HGET', batch, 'state')
if not state then return { 'missing' } end
if not redis.call('ZSCORE', running, number) then return { 'stale' } end
if redis.call('HGET', items, number .. ':attempt') ~= attempt then return { 'stale' } end

redis.call('ZREM', running, number)
local held = redis.call('HMGET', items, number .. ':tokens', number .. ':cost')
redis.call('HINCRBY', batch, 'held_tokens', 0 - tonumber(held[1] or 0))
redis.call('HINCRBY', batch, 'held_cost', 0 - tonumber(held[2] or 0))
redis.call('HINCRBY', batch, 'spent_tokens', tokens)
redis.call('HINCRBY', batch, 'spent_cost', cost)
redis.call('HSET', items, number .. ':result', result)
local tries = redis.call('HINCRBY', items, number .. ':tries', 1)
local repeats = outcome == 'failed' and state == 'running'
  and tries < tonumber(redis.call('HGET', batch, 'attempts'))
if repeats then
  redis.call('HINCRBY', items, number .. ':attempt', 1)
  redis.call('HSET', items, number .. ':state', 'waiting')
  redis.call('ZADD', waiting, number, number)
else
  redis.call('HSET', items, number .. ':state', outcome)
  redis.call('HINCRBY', batch, outcome, 1)
end
local equal_errors = 0
if error ~= '' then
  equal_errors = 1
  if redis.call('HGET', batch, 'error') == error then equal_errors = redis.call('HINCRBY', batch, 'equal_errors', 1)
  else redis.call('HSET', batch, 'error', error, 'equal_errors', 1) end
elseif outcome == 'done' then
  redis.call('HDEL', batch, 'error', 'equal_errors')
end
redis.call('PEXPIRE', batch, ttl_ms)
redis.call('PEXPIRE', items, ttl_ms)
redis.call('PEXPIRE', waiting, ttl_ms)
redis.call('PEXPIRE', running, ttl_ms)
if repeats then return { 'again', equal_errors } end
return { 'settled', equal_errors }

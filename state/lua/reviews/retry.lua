--- reviews/retry: queues the items of an ended batch that failed or never began.
--- KEYS: batch items waiting
--- ARGV: request ttl_ms
--- USES: clock
--- ANSWERS: retried(count) nothing open missing
--- GUARANTEE: no reviewed item is repeated. The same request again changes nothing.
local state = redis.call('HGET', batch, 'state')
if not state then return { 'missing' } end
local previous = redis.call('HMGET', batch, 'retried_by', 'retried')
if previous[1] == request then return { 'retried', tonumber(previous[2]) } end
if state == 'opening' or state == 'running' or state == 'stopping' then return { 'open' } end

local count = 0
for number = 1, tonumber(redis.call('HGET', batch, 'total')) do
  local item_state = redis.call('HGET', items, number .. ':state')
  if item_state == 'failed' or item_state == 'cancelled' then
    redis.call('HINCRBY', batch, item_state, -1)
    redis.call('HINCRBY', items, number .. ':attempt', 1)
    redis.call('HSET', items, number .. ':state', 'waiting', number .. ':tries', 0)
    redis.call('ZADD', waiting, number, number)
    count = count + 1
  end
end
if count == 0 then return { 'nothing' } end
local span_ms = tonumber(redis.call('HGET', batch, 'span_ms') or nil) or 0
redis.call('HSET', batch, 'state', 'running', 'deadline_ms', span_ms > 0 and NOW + span_ms or 0,
  'retried_by', request, 'retried', count)
redis.call('HINCRBY', batch, 'retries', 1)
redis.call('HDEL', batch, 'outcome', 'reason', 'ended_ms', 'reporter', 'reporter_until', 'error', 'equal_errors')
redis.call('PEXPIRE', batch, ttl_ms)
redis.call('PEXPIRE', items, ttl_ms)
redis.call('PEXPIRE', waiting, ttl_ms)
return { 'retried', count }

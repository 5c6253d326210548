--- reviews/claim: gives out the next items of a batch, each with its spending limit, and lists the overdue ones.
--- KEYS: batch items waiting running
--- ARGV: look_ms ttl_ms
--- USES: clock
--- ANSWERS: claimed(numbers, overdue) stopping(overdue) late exhausted(unit) idle opening closed missing
--- GUARANTEE: an item is given out once per attempt; at most `parallel` items are running. The spending so far and
--- what the running items may still spend never exceed a limit together. `overdue`: running items that no worker has
--- checked for `look_ms`; `idle`: nothing waits and nothing is running.
local state = redis.call('HGET', batch, 'state')
if not state then return { 'missing' } end
if state == 'opening' then return { 'opening' } end
if state ~= 'running' and state ~= 'stopping' then return { 'closed' } end

local function number_of(field) return tonumber(redis.call('HGET', batch, field) or nil) or 0 end

local overdue = redis.call('ZRANGEBYSCORE', running, '-inf', NOW)
for _, number in ipairs(overdue) do redis.call('ZADD', running, NOW + look_ms, number) end
local running_count = redis.call('ZCARD', running)
if running_count + redis.call('ZCARD', waiting) == 0 then return { 'idle' } end
if state == 'stopping' then return { 'stopping', overdue } end
if number_of('deadline_ms') > 0 and number_of('deadline_ms') <= NOW then return { 'late' } end

--- Return the share of one of `remaining` items in the rest of the limit, or nil without a limit.
local function share(unit, remaining)
  local limit = number_of('limit_' .. unit)
  if limit == 0 then return nil end
  return math.floor((limit - number_of('spent_' .. unit) - number_of('held_' .. unit)) / remaining)
end

local free = math.max(number_of('parallel') - running_count, 0)
local candidates = redis.call('ZRANGEBYSCORE', waiting, '-inf', 'inf', 'LIMIT', 0, free)
local claimed, short = {}, nil
for at, number in ipairs(candidates) do
  local remaining = #candidates - at + 1
  local tokens, cost = share('tokens', remaining), share('cost', remaining)
  short = tokens and tokens < 1 and 'tokens' or cost and cost < 1 and 'cost' or nil
  if short then break end
  redis.call('ZREM', waiting, number)
  redis.call('ZADD', running, NOW + look_ms, number)
  redis.call('HSET', items, number .. ':state', 'running', number .. ':tokens', tokens or 0, number .. ':cost', cost or 0)
  redis.call('HINCRBY', batch, 'held_tokens', tokens or 0)
  redis.call('HINCRBY', batch, 'held_cost', cost or 0)
  claimed[#claimed + 1] = number
end
redis.call('PEXPIRE', batch, ttl_ms)
redis.call('PEXPIRE', items, ttl_ms)
redis.call('PEXPIRE', waiting, ttl_ms)
redis.call('PEXPIRE', running, ttl_ms)
if short and running_count + #claimed == 0 then return { 'exhausted', short } end
return { 'claimed', claimed, overdue }

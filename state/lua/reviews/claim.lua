--- reviews/claim: gives out the next items of a batch, each with its spending limit, and lists the overdue ones.
--- KEYS: batch items waiting running
--- ARGV: look_ms ttl_ms
--- USES: clock
--- ANSWERS: claimed(numbers, overdue) stopping(overdue) late exhausted(unit) idle opening closed missing
--- GUARANTEE: an item is given out once per attempt; at most `parallel` items are running. The spending so far and
--- what the running items may still spend never exceed a limit together. An item starts only if the rest of a limit
--- is at least what it is estimated to need; items that need more wait, and later ones that fit start first. `overdue`: running items that no
--- worker has checked for `look_ms`, unless the batch has its own; `idle`: nothing waits and nothing is running.
local state = redis.call('HGET', batch, 'state')
if not state then return { 'missing' } end
if state == 'opening' then return { 'opening' } end
if state ~= 'running' and state ~= 'stopping' then return { 'closed' } end

local function number_of(field) return tonumber(redis.call('HGET', batch, field) or nil) or 0 end

look_ms = tonumber(redis.call('HGET', batch, 'look_ms') or look_ms)
local overdue = redis.call('ZRANGEBYSCORE', running, '-inf', NOW)
for _, number in ipairs(overdue) do redis.call('ZADD', running, NOW + look_ms, number) end
local running_count = redis.call('ZCARD', running)
if running_count + redis.call('ZCARD', waiting) == 0 then return { 'idle' } end
if state == 'stopping' then return { 'stopping', overdue } end
if number_of('deadline_ms') > 0 and number_of('deadline_ms') <= NOW then return { 'late' } end

local SLACK, PAGE = 1.5, 100 -- estimates are low by up to a half; items that are looked at together
local free = math.max(number_of('parallel') - running_count, 0)

local known = {}

--- Return what an item is estimated to need of a limit; 1 if it is not known.
local function needs_of(number, unit)
  local field = number .. ':needs_' .. unit
  known[field] = known[field] or tonumber(redis.call('HGET', items, field) or nil) or 1
  return known[field]
end

--- Return what the item `candidates[at]` may spend of a limit, nil without a limit, or 0 if the rest is less than it
--- needs. `count` items share the rest by their needs, or evenly if its own is not known; it is at least the needs
--- with slack.
local function share(candidates, at, count, unit)
  local limit = number_of('limit_' .. unit)
  if limit == 0 then return nil end
  local rest, needs = limit - number_of('spent_' .. unit) - number_of('held_' .. unit), needs_of(candidates[at], unit)
  if needs > rest then return 0 end
  local last, together = math.min(at + count - 1, #candidates), 0
  if needs == 1 then return math.floor(rest / (last - at + 1)) end
  for place = at, last do together = together + needs_of(candidates[place], unit) end
  return math.min(rest, math.max(math.floor(rest * needs / together), math.floor(needs * SLACK + 0.5)))
end

local claimed, short, passed = {}, nil, 0
while #claimed < free do
  local candidates = redis.call('ZRANGEBYSCORE', waiting, '-inf', 'inf', 'LIMIT', passed, PAGE)
  for at, number in ipairs(candidates) do
    local count = free - #claimed
    if count == 0 then break end
    local tokens, cost = share(candidates, at, count, 'tokens'), share(candidates, at, count, 'cost')
    if tokens == 0 or cost == 0 then
      short, passed = short or tokens == 0 and 'tokens' or 'cost', passed + 1
    else
      redis.call('ZREM', waiting, number)
      redis.call('ZADD', running, NOW + look_ms, number)
      redis.call('HSET', items, number .. ':state', 'running', number .. ':tokens', tokens or 0, number .. ':cost', cost or 0)
      redis.call('HINCRBY', batch, 'held_tokens', tokens or 0)
      redis.call('HINCRBY', batch, 'held_cost', cost or 0)
      claimed[#claimed + 1] = number
    end
  end
  if #candidates < PAGE then break end
end
redis.call('PEXPIRE', batch, ttl_ms)
redis.call('PEXPIRE', items, ttl_ms)
redis.call('PEXPIRE', waiting, ttl_ms)
redis.call('PEXPIRE', running, ttl_ms)
if short and running_count + #claimed == 0 then return { 'exhausted', short } end
return { 'claimed', claimed, overdue }

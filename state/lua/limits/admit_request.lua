--- limits/admit_request: admits a model request within its provider's requests and tokens per minute.
--- KEYS: rate
--- ARGV: requests_a_minute tokens_a_minute tokens
--- USES: clock
--- ANSWERS: admitted(second) later(wait_ms)
--- GUARANTEE: in no 60 seconds more is admitted than the limit of a minute, over all workers. Each refused caller
--- gets its own retry time, so that they do not all return at once. An empty limit means no limit.
--- The hash holds, for each of the last 61 seconds, `requests tokens` admitted in it, and `hint`.
local now_s = math.floor(NOW / 1000)
local seconds, hint = {}, 0
local flat = redis.call('HGETALL', rate)
for i = 1, #flat, 2 do
  local second = tonumber(flat[i])
  if not second then hint = tonumber(flat[i + 1])
  elseif second <= now_s - 61 then redis.call('HDEL', rate, flat[i])
  else
    local requests, cost = string.match(flat[i + 1], '^(%d+) (%d+)$')
    seconds[#seconds + 1] = { second, tonumber(requests), tonumber(cost) }
  end
end
table.sort(seconds, function(a, b) return a[1] < b[1] end)

--- Return the milliseconds until `amount` more of one unit fits into a minute.
local function wait_for(limit, column, amount)
  local over = amount - limit
  for _, entry in ipairs(seconds) do over = over + entry[column] end
  for _, entry in ipairs(seconds) do
    if over <= 0 then break end
    over = over - entry[column]
    if over <= 0 then return (entry[1] + 61) * 1000 - NOW end
  end
  return 0
end

local wait_ms, interval_ms = 0, 0
if requests_a_minute ~= '' then
  wait_ms = wait_for(tonumber(requests_a_minute), 2, 1)
  interval_ms = 60000 / requests_a_minute
end
-- A turn larger than the limit of a minute is admitted alone.
local cost = tonumber(tokens)
if tokens_a_minute ~= '' then
  cost = math.min(cost, tonumber(tokens_a_minute))
  wait_ms = math.max(wait_ms, wait_for(tonumber(tokens_a_minute), 3, cost))
  interval_ms = math.max(interval_ms, 60000 * cost / tokens_a_minute)
end
if wait_ms > 0 then
  local at = math.min(math.max(hint + interval_ms, NOW + wait_ms), NOW + wait_ms + 60000)
  redis.call('HSET', rate, 'hint', string.format('%.0f', at))
  redis.call('PEXPIRE', rate, 180000)
  return { 'later', math.floor(at - NOW) }
end
local current = seconds[#seconds]
if not current or current[1] ~= now_s then current = { now_s, 0, 0 } end
redis.call('HSET', rate, now_s, string.format('%d %d', current[2] + 1, current[3] + cost))
redis.call('PEXPIRE', rate, 180000)
return { 'admitted', now_s }

--- tenant_reserve: sets aside what a turn may spend of what its tenant may spend today.
--- KEYS: books expiries
--- ARGV: id expires_in_ms tokens cost limit_tokens limit_cost limit_turns
--- ANSWERS: reserved short exhausted(unit, left, wanted)
--- GUARANTEE: what is spent today and what is set aside never exceed a limit together. What does not fit waits
--- (`short`) while others may give something back, and is `exhausted` when nobody can. What a worker that died had set aside is given back at its expiry. The day is UTC's; an empty limit is none.
local UNITS = { 'tokens', 'cost', 'turns' }
local wanted = { tokens = tonumber(tokens), cost = tonumber(cost), turns = 1 }
local limits = { tokens = tonumber(limit_tokens), cost = tonumber(limit_cost), turns = tonumber(limit_turns) }

local function of(field) return tonumber(redis.call('HGET', books, field) or nil) or 0 end

local function lay_back(held_id)
  local held = redis.call('HGET', books, 'held:' .. held_id)
  redis.call('ZREM', expiries, held_id)
  if not held then return end
  for unit, amount in pairs(cjson.decode(held)) do redis.call('HINCRBY', books, 'reserved_' .. unit, 0 - amount) end
  redis.call('HDEL', books, 'held:' .. held_id)
end

for _, late in ipairs(redis.call('ZRANGEBYSCORE', expiries, '-inf', NOW, 'LIMIT', 0, 100)) do lay_back(late) end
local today = math.floor(NOW / 86400000)
if of('day') ~= today then redis.call('HSET', books, 'day', today, 'tokens', 0, 'cost', 0, 'turns', 0) end
redis.call('PEXPIRE', books, 172800000)
if redis.call('HEXISTS', books, 'held:' .. id) == 1 then return { 'reserved' } end

for _, unit in ipairs(UNITS) do
  if limits[unit] and wanted[unit] > 0 then
    local reserved = of('reserved_' .. unit)
    local left = limits[unit] - of(unit) - reserved
    if left < wanted[unit] then
      if reserved > 0 then return { 'short' } end
      return { 'exhausted', unit, math.max(left, 0), wanted[unit] }
    end
  end
end
for _, unit in ipairs(UNITS) do redis.call('HINCRBY', books, 'reserved_' .. unit, wanted[unit]) end
redis.call('HSET', books, 'held:' .. id, cjson.encode(wanted))
redis.call('ZADD', expiries, NOW + expires_in_ms, id)
redis.call('PEXPIRE', expiries, 172800000)
return { 'reserved' }

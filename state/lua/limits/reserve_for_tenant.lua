--- limits/reserve_for_tenant: reserves what a turn may spend of its tenant's limit of today.
--- KEYS: books expiries
--- ARGV: id expires_in_ms tokens cost limit_tokens limit_cost limit_turns
--- USES: clock
--- ANSWERS: reserved found short exhausted(unit, left, wanted)
--- GUARANTEE: the spending of today and all reservations never exceed a limit together. A turn that does not fit waits
--- (`short`) while other turns may release something; if none can, the answer is `exhausted`. An existing reservation
--- under this id (`found`) is filled up. The reservation of a worker that died is released at its expiry. The day is
--- that of UTC; an empty limit means no limit.
local UNITS = { 'tokens', 'cost', 'turns' }
local wanted = { tokens = tonumber(tokens), cost = tonumber(cost), turns = 1 }
local limits = { tokens = tonumber(limit_tokens), cost = tonumber(limit_cost), turns = tonumber(limit_turns) }

local function number_of(field) return tonumber(redis.call('HGET', books, field) or nil) or 0 end

local function release(held_id)
  local held = redis.call('HGET', books, 'held:' .. held_id)
  redis.call('ZREM', expiries, held_id)
  if not held then return end
  for unit, amount in pairs(cjson.decode(held)) do redis.call('HINCRBY', books, 'reserved_' .. unit, 0 - amount) end
  redis.call('HDEL', books, 'held:' .. held_id)
end

for _, late in ipairs(redis.call('ZRANGEBYSCORE', expiries, '-inf', NOW, 'LIMIT', 0, 100)) do release(late) end
local today = math.floor(NOW / 86400000)
if number_of('day') ~= today then redis.call('HSET', books, 'day', today, 'tokens', 0, 'cost', 0, 'turns', 0) end
redis.call('PEXPIRE', books, 172800000)
local found = redis.call('HGET', books, 'held:' .. id)
local own = found and cjson.decode(found) or { tokens = 0, cost = 0, turns = 0 }

for _, unit in ipairs(UNITS) do
  if limits[unit] and wanted[unit] > own[unit] then
    local others = number_of('reserved_' .. unit) - own[unit]
    local left = limits[unit] - number_of(unit) - others
    if left < wanted[unit] then
      if others > 0 then return { 'short' } end
      return { 'exhausted', unit, math.max(left, 0), wanted[unit] }
    end
  end
end
for _, unit in ipairs(UNITS) do
  local more = math.max(wanted[unit] - own[unit], 0)
  redis.call('HINCRBY', books, 'reserved_' .. unit, more)
  own[unit] = own[unit] + more
end
redis.call('HSET', books, 'held:' .. id, cjson.encode(own))
redis.call('ZADD', expiries, NOW + expires_in_ms, id)
redis.call('PEXPIRE', expiries, 172800000)
if found then return { 'found' } end
return { 'reserved' }

--- limits/book_for_tenant: books the spending of an attempt of a turn, and releases its reservation or keeps the rest.
--- KEYS: books expiries
--- ARGV: id request tokens cost turns fate keep_ms
--- USES: clock
--- ANSWERS: settled again
--- GUARANTEE: the spending is booked once for every `request` that is repeated within a minute, independent of the
--- reservation. `release` gives back all of it; `keep` reduces it by the spending, for the next attempt, for `keep_ms`;
--- `leave` does not change it: it belongs to another attempt by now.
if redis.call('ZSCORE', expiries, 'settled:' .. request) then return { 'again' } end
redis.call('ZADD', expiries, NOW + 60000, 'settled:' .. request)
local today = math.floor(NOW / 86400000)
if tonumber(redis.call('HGET', books, 'day') or nil) ~= today then
  redis.call('HSET', books, 'day', today, 'tokens', 0, 'cost', 0, 'turns', 0)
end
local spent = { tokens = tonumber(tokens), cost = tonumber(cost), turns = tonumber(turns) }
for unit, amount in pairs(spent) do redis.call('HINCRBY', books, unit, amount) end
local held = redis.call('HGET', books, 'held:' .. id)
if held and fate ~= 'leave' then
  local rest = {}
  for unit, amount in pairs(cjson.decode(held)) do
    rest[unit] = fate == 'keep' and math.max(amount - spent[unit], 0) or 0
    redis.call('HINCRBY', books, 'reserved_' .. unit, rest[unit] - amount)
  end
  if fate == 'keep' then
    redis.call('HSET', books, 'held:' .. id, cjson.encode(rest))
    redis.call('ZADD', expiries, NOW + keep_ms, id)
  else
    redis.call('HDEL', books, 'held:' .. id)
    redis.call('ZREM', expiries, id)
  end
end
redis.call('PEXPIRE', books, 172800000)
redis.call('PEXPIRE', expiries, 172800000)
return { 'settled' }

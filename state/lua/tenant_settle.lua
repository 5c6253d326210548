--- tenant_settle: gives back what a turn had set aside, and books what it has spent.
--- KEYS: books expiries
--- ARGV: id tokens cost turns
--- ANSWERS: settled gone
--- GUARANTEE: once for every reservation: the same again, or after its expiry, changes nothing.
local held = redis.call('HGET', books, 'held:' .. id)
redis.call('ZREM', expiries, id)
if not held then return { 'gone' } end
local spent = { tokens = tokens, cost = cost, turns = turns }
local is_today = tonumber(redis.call('HGET', books, 'day')) == math.floor(NOW / 86400000)
if not is_today then
  redis.call('HSET', books, 'day', math.floor(NOW / 86400000), 'tokens', 0, 'cost', 0, 'turns', 0)
end
for unit, amount in pairs(cjson.decode(held)) do
  redis.call('HINCRBY', books, 'reserved_' .. unit, 0 - amount)
  redis.call('HINCRBY', books, unit, spent[unit])
end
redis.call('HDEL', books, 'held:' .. id)
return { 'settled' }

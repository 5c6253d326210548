--- reviews/add: adds an item to a batch that is being uploaded.
--- KEYS: batch items waiting starter text
--- ARGV: mine number opening opening_ms ttl_ms fields*
--- USES:
--- ANSWERS: added replaced
--- GUARANTEE: a repeated call changes nothing. An item without an opening has its result in its fields, and does not
--- wait. `replaced`: a later starter has begun.
if redis.call('GET', starter) ~= mine then return { 'replaced' } end
redis.call('HSET', items, unpack(fields))
if opening ~= '' then
  redis.call('SET', text, opening, 'PX', ttl_ms)
  redis.call('ZADD', waiting, number, number)
end
redis.call('PEXPIRE', batch, opening_ms)
redis.call('PEXPIRE', items, opening_ms)
redis.call('PEXPIRE', waiting, opening_ms)
redis.call('PEXPIRE', starter, opening_ms)
return { 'added' }

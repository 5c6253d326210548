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
for _, key in ipairs({ batch, items, waiting, starter }) do redis.call('PEXPIRE', key, opening_ms) end
return { 'added' }

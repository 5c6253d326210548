--- reviews/open: creates a batch, or replaces one whose upload another starter has not ended; no item starts yet.
--- KEYS: batch items waiting starter
--- ARGV: mine head opening_ms fields*
--- USES:
--- ANSWERS: opened started replaced
--- GUARANTEE: a batch that was started stays as it is. `replaced`: a later starter has begun, and only the latest one
--- may write. Items of an earlier upload are deleted.
if redis.call('GET', starter) ~= mine then return { 'replaced' } end
local state = redis.call('HGET', batch, 'state')
if state and state ~= 'opening' then return { 'started' } end
redis.call('DEL', batch, items, waiting)
redis.call('HSET', batch, 'state', 'opening', unpack(fields))
redis.call('HSET', items, 'head', head)
redis.call('PEXPIRE', batch, opening_ms)
redis.call('PEXPIRE', items, opening_ms)
return { 'opened' }

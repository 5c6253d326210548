--- reviews/start: starts a batch after the upload of its items, or records why it cannot start.
--- KEYS: batch items waiting starter
--- ARGV: mine head total unchanged failure ttl_ms
--- USES:
--- ANSWERS: started replaced
--- GUARANTEE: a batch is started once. With a `failure` it only has to be reported. `replaced`: a later starter has
--- begun.
if redis.call('GET', starter) ~= mine then return { 'replaced' } end
if redis.call('HGET', batch, 'state') ~= 'opening' then return { 'started' } end
redis.call('HSET', batch, 'state', 'running', 'total', total, 'unchanged', unchanged)
if failure ~= '' then redis.call('HSET', batch, 'state', 'stopping', 'outcome', 'failed', 'reason', failure) end
redis.call('HSET', items, 'head', head)
redis.call('PEXPIRE', batch, ttl_ms)
redis.call('PEXPIRE', items, ttl_ms)
redis.call('PEXPIRE', waiting, ttl_ms)
redis.call('PEXPIRE', starter, ttl_ms)
return { 'started' }

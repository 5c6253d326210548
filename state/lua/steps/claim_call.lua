--- steps/claim_call: lets one process call the URL of a session that has ended.
--- KEYS: step
--- ARGV: lease_ms ttl_ms
--- USES: clock
--- ANSWERS: granted held done
--- GUARANTEE: until the lease ends, or an attempt is counted, no other process is granted; after `done`, none at all.
if redis.call('HGET', step, 'stage') == 'done' then return { 'done' } end
if tonumber(redis.call('HGET', step, 'claimed_until_ms') or '0') > NOW then return { 'held' } end
redis.call('HSET', step, 'claimed_until_ms', NOW + tonumber(lease_ms))
redis.call('PEXPIRE', step, ttl_ms)
return { 'granted' }

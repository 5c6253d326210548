--- steps/claim: lets one run of a step's Celery task report the end of its session.
--- KEYS: step
--- ARGV: lease_ms
--- USES: clock
--- ANSWERS: granted held done missing
--- GUARANTEE: until the lease ends, no other run is granted; after `done`, none at all.
local stage = redis.call('HGET', step, 'stage')
if not stage then return { 'missing' } end
if stage == 'done' then return { 'done' } end
if tonumber(redis.call('HGET', step, 'claimed_until_ms') or '0') > NOW then return { 'held' } end
redis.call('HSET', step, 'claimed_until_ms', NOW + tonumber(lease_ms))
return { 'granted' }

--- worker_leases/report: renews the lease of a worker process, or ends it, and updates the sessions that it works on.
--- KEYS: leases sessions
--- ARGV: process lease_ms added removed
--- USES: clock
--- ANSWERS: known unknown
--- GUARANTEE: a report may be repeated. `lease_ms` 0: the process was seen to end. `unknown`: the server had no lease of the process (a first report, a failover, a lease that
--- counted as expired), so the caller reports all its sessions again.
local KEPT_MS = 86400000
local expiry_ms = tonumber(lease_ms) > 0 and NOW + lease_ms or 0
local is_known = redis.call('ZSCORE', leases, process)
for _, id in ipairs(cjson.decode(added)) do redis.call('SADD', sessions, id) end
for _, id in ipairs(cjson.decode(removed)) do redis.call('SREM', sessions, id) end
redis.call('PEXPIRE', sessions, KEPT_MS)
redis.call('ZADD', leases, expiry_ms, process)
redis.call('PEXPIRE', leases, KEPT_MS)
return is_known and { 'known' } or { 'unknown' }

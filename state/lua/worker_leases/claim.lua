--- worker_leases/claim: claims lost worker processes for a time, to take over their turns.
--- KEYS: leases lost checks
--- ARGV: lease_ms gap_ms hold_ms
--- USES: clock
--- ANSWERS: claimed(processes)
--- GUARANTEE: two concurrent callers get different processes; if a caller dies, another one gets them after `hold_ms`.
--- A process that was seen to end is lost at once. One whose lease has expired is lost only if this script has run
--- without a gap for the time of a lease: during an outage of Redis, or when its clock jumps forward, the leases of
--- all processes expire, although they run.
local KEPT_MS = 86400000
local last_ms, judged_ms = unpack(redis.call('HMGET', checks, 'last_ms', 'judged_ms'))
if not last_ms or NOW - last_ms > tonumber(gap_ms) then judged_ms = NOW + lease_ms end
redis.call('HSET', checks, 'last_ms', NOW, 'judged_ms', judged_ms)
local latest_ms = NOW >= tonumber(judged_ms) and NOW or 0
for _, process in ipairs(redis.call('ZRANGEBYSCORE', leases, '-inf', latest_ms)) do
  redis.call('ZREM', leases, process)
  redis.call('ZADD', lost, NOW, process)
end
local processes = redis.call('ZRANGEBYSCORE', lost, '-inf', NOW)
for _, process in ipairs(processes) do redis.call('ZADD', lost, NOW + hold_ms, process) end
redis.call('PEXPIRE', lost, KEPT_MS)
redis.call('PEXPIRE', checks, KEPT_MS)
return { 'claimed', processes }

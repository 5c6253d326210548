--- notices/claim: lets one worker send a notice about a question.
--- KEYS: notices
--- ARGV: field lease_ms ttl_ms max_attempts
--- USES: clock
--- ANSWERS: granted(attempt) held(until_ms) done
--- GUARANTEE: until the lease ends, no other worker is granted; after `sent` and `failed`, none at all. A worker that was
--- lost while it was sending may have sent the notice, so that it is not sent again: it counts as failed.
local stored = redis.call('HGET', notices, field)
local notice = stored and cjson.decode(stored) or { state = 'new', attempt = 0, until_ms = 0, error = '' }
if notice.state == 'sent' or notice.state == 'failed' then return { 'done' } end
if notice.until_ms > NOW then return { 'held', notice.until_ms } end
if notice.state == 'sending' then
  notice.state, notice.error = 'failed', 'a worker was lost while it was sending; it may have arrived'
elseif notice.attempt >= tonumber(max_attempts) then
  notice.state = 'failed'
  if notice.error == '' then notice.error = 'workers were lost before they sent it' end
else
  notice.state, notice.attempt, notice.until_ms = 'claimed', notice.attempt + 1, NOW + tonumber(lease_ms)
end
redis.call('HSET', notices, field, cjson.encode(notice))
if redis.call('PTTL', notices) < tonumber(ttl_ms) then redis.call('PEXPIRE', notices, ttl_ms) end
if notice.state == 'failed' then return { 'done' } end
return { 'granted', notice.attempt }

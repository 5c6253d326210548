--- notices/mark: records the progress of a notice: `sending`, `sent`, `failed`, or `retry` after a time.
--- KEYS: notices
--- ARGV: field attempt state in_ms error
--- USES: clock
--- ANSWERS: marked stale
--- GUARANTEE: only the newest attempt changes a notice, and no notice that is `sent` or `failed`. `in_ms`: the lease of
--- `sending`, or the delay of `retry`.
local stored = redis.call('HGET', notices, field)
if not stored then return { 'stale' } end
local notice = cjson.decode(stored)
if notice.attempt ~= tonumber(attempt) then return { 'stale' } end
if notice.state ~= 'claimed' and notice.state ~= 'sending' then return { 'stale' } end
if state == 'sending' and notice.until_ms <= NOW then return { 'stale' } end
notice.state, notice.until_ms, notice.error = state, NOW + tonumber(in_ms), error
redis.call('HSET', notices, field, cjson.encode(notice))
return { 'marked' }

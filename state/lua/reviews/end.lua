--- reviews/end: lets one worker report a batch without remaining work, and ends the batch after the report.
--- KEYS: batch waiting running
--- ARGV: reporter lease_ms is_done ttl_ms
--- USES: clock
--- ANSWERS: yours taken open ended missing
--- GUARANTEE: one worker reports at a time; if it dies, another may report after `lease_ms`. Only the worker that
--- has reported a batch can end it.
local state = redis.call('HGET', batch, 'state')
if not state then return { 'missing' } end
if state ~= 'running' and state ~= 'stopping' then return { 'ended' } end
if redis.call('ZCARD', waiting) + redis.call('ZCARD', running) > 0 then return { 'open' } end

local function number_of(field) return tonumber(redis.call('HGET', batch, field) or nil) or 0 end

local holder = redis.call('HGET', batch, 'reporter')
redis.call('PEXPIRE', batch, ttl_ms)
if holder ~= reporter and number_of('reporter_until') > NOW then return { 'taken' } end
if is_done ~= '' then
  if holder ~= reporter then return { 'taken' } end
  redis.call('HSET', batch, 'state', redis.call('HGET', batch, 'outcome'))
  return { 'ended' }
end
if not redis.call('HGET', batch, 'outcome') then
  local succeeded = number_of('done') + number_of('unchanged')
  redis.call('HSET', batch, 'outcome', number_of('failed') == 0 and 'completed' or succeeded > 0 and 'partial' or 'failed')
end
if number_of('ended_ms') == 0 then redis.call('HSET', batch, 'ended_ms', NOW) end
redis.call('HSET', batch, 'reporter', reporter, 'reporter_until', NOW + lease_ms)
return { 'yours' }

--- schedules/lease: leases a schedule to one worker, which handles its due times and its runs.
--- KEYS: entry
--- ARGV: token lease_ms
--- USES: clock
--- ANSWERS: mine other missing
--- GUARANTEE: one worker at a time, until it releases the schedule or its lease expires. Workers that ask meanwhile
--- leave a mark, so that the holder looks once more; a renewal keeps it.
local document, keeper = unpack(redis.call('HMGET', entry, 'document', 'keeper'))
if not document then return { 'missing' } end
local holder, ends_ms = string.match(keeper or '', '^(.-)|(%d+)$')
if holder and holder ~= token and tonumber(ends_ms) > NOW then
  redis.call('HSET', entry, 'again', '1')
  return { 'other' }
end
redis.call('HSET', entry, 'keeper', string.format('%s|%.0f', token, NOW + lease_ms))
if holder ~= token then redis.call('HDEL', entry, 'again') end
return { 'mine' }

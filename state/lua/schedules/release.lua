--- schedules/release: releases a schedule.
--- KEYS: entry look
--- ARGV: name token look_ms
--- USES:
--- ANSWERS: released again other
--- GUARANTEE: `again`: another worker asked for it meanwhile; the holder keeps the schedule and must look once more.
local keeper, again = unpack(redis.call('HMGET', entry, 'keeper', 'again'))
if string.match(keeper or '', '^(.-)|') ~= token then return { 'other' } end
if again then
  redis.call('HDEL', entry, 'again')
  return { 'again' }
end
redis.call('HDEL', entry, 'keeper')
redis.call('ZADD', look, 'XX', look_ms, name)
return { 'released' }

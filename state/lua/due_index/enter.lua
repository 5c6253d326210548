--- due_index/enter: adds sessions to an index, each at a time from now on.
--- KEYS: due
--- ARGV: entries*
--- USES:
--- ANSWERS: entered
--- GUARANTEE: as `reschedule` with `entering`: an existing entry keeps an earlier requested time.
--- `entries`: ids, each followed by the milliseconds until its time. Sent as text, so it is short.
local t = redis.call('TIME')
local now = t[1] * 1000 + math.floor(t[2] / 1000)
for i = 1, #entries, 2 do
  local id, due_ms = entries[i], now + entries[i + 1]
  if redis.call('ZADD', due, 'NX', due_ms, id) == 0 then
    local time = tonumber(redis.call('ZSCORE', due, id))
    if time % 1 == 0.5 or time > due_ms then redis.call('ZADD', due, due_ms, id) end
  end
end
return { 'entered' }

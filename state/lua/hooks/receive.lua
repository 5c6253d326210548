--- hooks/receive: queues the work of an event that a code host has sent, once.
--- KEYS: queue event seen*
--- ARGV: member data most ttl_ms seen_ms
--- USES: clock
--- ANSWERS: queued repeated full
--- GUARANTEE: an event whose delivery id or body was received before changes nothing. Work that is queued already is due
--- again now; what is being done of it keeps its entry, because the time has changed. A refused event may be sent again.
for i in ipairs(seen) do
  if redis.call('EXISTS', seen[i]) == 1 then return { 'repeated' } end
end
if not redis.call('ZSCORE', queue, member) and redis.call('ZCARD', queue) >= tonumber(most) then return { 'full' } end
for i in ipairs(seen) do redis.call('SET', seen[i], '1', 'PX', seen_ms) end
if data ~= '' then redis.call('SET', event, data, 'PX', ttl_ms) end
redis.call('ZADD', queue, NOW, member)
redis.call('PEXPIRE', queue, ttl_ms)
return { 'queued' }

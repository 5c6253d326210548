--- schedule_started: notes that what the running occurrence does was begun.
--- KEYS: entry
--- ARGV: id kind
--- ANSWERS: noted other
--- GUARANTEE: the first beginning counts.
local running = redis.call('HGET', entry, 'running')
local occurrence = running and cjson.decode(running)
if not occurrence or occurrence.id ~= id then return { 'other' } end
if (occurrence.started_ms or 0) == 0 then
  occurrence.started_ms, occurrence.kind = NOW, kind
  redis.call('HSET', entry, 'running', cjson.encode(occurrence))
end
return { 'noted' }

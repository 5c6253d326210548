--- schedule_started: records that the job of the running run was started.
--- KEYS: entry
--- ARGV: id kind
--- USES: clock
--- ANSWERS: noted other
--- GUARANTEE: the first start counts.
local running = redis.call('HGET', entry, 'running')
local occurrence = running and cjson.decode(running)
if not occurrence or occurrence.id ~= id then return { 'other' } end
if (occurrence.started_ms or 0) == 0 then
  occurrence.started_ms, occurrence.kind = NOW, kind
  redis.call('HSET', entry, 'running', cjson.encode(occurrence))
end
return { 'noted' }

--- schedules/record_start: records that the job of the running run was started.
--- KEYS: entry
--- ARGV: id kind
--- USES: clock
--- ANSWERS: noted other
--- GUARANTEE: the first start counts.
local running = redis.call('HGET', entry, 'running')
local run = running and cjson.decode(running)
if not run or run.id ~= id then return { 'other' } end
if (run.started_ms or 0) == 0 then
  run.started_ms, run.kind = NOW, kind
  redis.call('HSET', entry, 'running', cjson.encode(run))
end
return { 'noted' }

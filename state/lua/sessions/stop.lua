--- sessions/stop: requests the end of a session after its running turns have closed.
--- KEYS: session journal turns
--- ARGV: by
--- USES: status view events
--- ANSWERS: requested(view) refused(view) missing
--- GUARANTEE: running turns are kept; no further turn is planned: the version rises, so that a plan made
--- before does not apply.
local status = redis.call('HGET', session, 'status')
if not status then return { 'missing' } end
if FINAL[status] or status == 'draft' then return view(session, turns, 'refused') end
if redis.call('HSET', session, 'stop_requested', '1') == 1 then
  redis.call('HINCRBY', session, 'version', 1)
  write_journal(journal, 'session.stop.requested', by ~= '' and { by = by } or nil)
end
return view(session, turns, 'requested')

--- sessions/steer: writes the settings of a session, those from now on and those from its next round on.
--- KEYS: session journal turns
--- ARGV: request edition spec next_collab next_spec event about format
--- USES: status view events requests formats
--- ANSWERS: steered(view) outdated(view) refused(view) missing
--- GUARANTEE: compare-and-set on the edition: two concurrent callers do not undo each other's change. The version
--- rises, so that a plan made before does not apply. `next_collab` and `next_spec`, if given, wait for the plan that
--- begins the next round. The same `request` again changes nothing, also after others: the newest 64 are known.
local status = redis.call('HGET', session, 'status')
if not status then return { 'missing' } end
if is_known_request(session, 'steered_by', request) then return view(session, turns, 'steered') end
if FINAL[status] then return view(session, turns, 'refused') end
if (redis.call('HGET', session, 'edition') or '0') ~= edition then return view(session, turns, 'outdated') end
redis.call('HSET', session, 'spec', spec)
raise_format(session, format)
remember_request(session, 'steered_by', request)
if next_collab ~= '' then
  redis.call('HSET', session, 'next_collab', next_collab, 'next_spec', next_spec, 'awaited', '1')
end
redis.call('HINCRBY', session, 'edition', 1)
redis.call('HINCRBY', session, 'version', 1)
write_journal(journal, event, cjson.decode(about))
return view(session, turns, 'steered')

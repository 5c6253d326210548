--- stop: asks a session to end by itself as soon as the turns in flight have closed.
--- KEYS: session journal turns
--- ARGV:
--- ANSWERS: requested(view) refused(view) missing
--- GUARANTEE: work already under way is kept; no further turn is planned: the version moves, so that a
--- plan made before this instant no longer applies.
local status = redis.call('HGET', session, 'status')
if not status then return { 'missing' } end
if FINAL[status] then return view(session, turns, 'refused') end
if redis.call('HSET', session, 'stop_requested', '1') == 1 then
  redis.call('HINCRBY', session, 'version', 1)
  note(journal, 'session.stop.requested', nil)
end
return view(session, turns, 'requested')

--- sessions/activate: starts a draft, with the settings that it has now and the messages that wait.
--- KEYS: session dialog events journal turns
--- ARGV: request by edition roles
--- USES: clock view transitions starting posts
--- ANSWERS: activated(view) outdated(view) refused(view) missing
--- GUARANTEE: a draft starts once, with the roles of its newest edition. Its deadline counts from this instant.
local status = redis.call('HGET', session, 'status')
if not status then return { 'missing' } end
if status ~= 'draft' then return answer_repeated(session, turns, request, 'activated') end
if (redis.call('HGET', session, 'edition') or '0') ~= edition then return view(session, turns, 'outdated') end
local collab, spec, deadline_ms =
  unpack(redis.call('HMGET', session, 'next_collab', 'next_spec', 'draft_deadline_ms'))
if collab then
  redis.call('HSET', session, 'collab', collab, 'spec', spec)
  redis.call('HDEL', session, 'next_collab', 'next_spec', 'awaited')
  redis.call('HINCRBY', session, 'edition', 1)
end
-- A client of release 0.1.0 may have asked the draft to stop.
redis.call('HDEL', session, 'draft_deadline_ms', 'stop_requested')
redis.call('HSET', session, 'started_ms', NOW)
local keys = { session = session, dialog = dialog, events = events, journal = journal }
start_session(keys, roles, deadline_ms, request, by)
flush_posts(keys)
return view(session, turns, 'activated')

--- suspend: pauses a session; turns in flight may finish, but nothing they say enters the dialog yet.
--- KEYS: session journal turns
--- ARGV:
--- ANSWERS: suspended(view) refused(view) missing
--- GUARANTEE: from this instant until resume no message is appended.
local status = redis.call('HGET', session, 'status')
if not status then return { 'missing' } end
if status ~= 'active' then return view(session, turns, 'refused') end
move({ session = session, journal = journal }, 'suspended', 'paused')
return view(session, turns, 'suspended')

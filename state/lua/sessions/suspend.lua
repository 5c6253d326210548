--- sessions/suspend: pauses a session; running turns may finish, but their output does not enter the dialog yet.
--- KEYS: session journal turns
--- ARGV: request by
--- USES: view transitions
--- ANSWERS: suspended(view) refused(view) missing
--- GUARANTEE: from this instant until resume no message is appended.
local status = redis.call('HGET', session, 'status')
if not status then return { 'missing' } end
if status ~= 'active' then return answer_repeated(session, turns, request, 'suspended') end
set_status({ session = session, journal = journal }, 'suspended', 'paused', request, by)
return view(session, turns, 'suspended')

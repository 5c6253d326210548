--- view: the session as it is.
--- KEYS: session turns
--- ARGV:
--- ANSWERS: seen(view) missing
--- GUARANTEE: changes nothing; fields and turns are of one instant.
if redis.call('EXISTS', session) == 0 then return { 'missing' } end
return view(session, turns, 'seen')

--- sessions/view: reads the session.
--- KEYS: session turns
--- ARGV:
--- USES: view
--- ANSWERS: seen(view) missing
--- GUARANTEE: changes nothing; fields and turns are from one instant.
if redis.call('EXISTS', session) == 0 then return { 'missing' } end
return view(session, turns, 'seen')

--- restore: makes a lost session live again, once its streams are refilled.
--- KEYS: session dialog events journal turns board
--- ARGV: collab spec hashes
--- ANSWERS: restored(view) exists
--- GUARANTEE: a session that is live stays as it is. Locks are not restored: who held one has lost it.
if redis.call('EXISTS', session) == 1 then return { 'exists' } end
local made = cjson.decode(hashes)
fill({ session, turns, board }, { made.fields, made.turns, made.board })
redis.call('HSET', session, 'collab', collab, 'spec', spec, 'archive', 'owed')
keep({ dialog, events, journal })
return view(session, turns, 'restored')

--- turns/record_hit: stores an answer that a guard refused, and the event of the hit, before the agent is asked again.
--- KEYS: session journal turns calls lock
--- ARGV: number token hit about ttl_ms fields*
--- USES: locks turns events changes
--- ANSWERS: recorded lost missing
--- GUARANTEE: answer and event are written together, only by the holder of the turn, and once for each `hit` of its
--- token, because an attempt has its hits one after the other. `fields`: names and values for the call journal.
if redis.call('EXISTS', session) == 0 then return { 'missing' } end
local turn = read_turn(turns, number)
if not turn or turn.status ~= 'speaking' or turn.token ~= token or lock_owner(lock) ~= token then return { 'lost' } end
local key = token .. ':' .. hit
if turn.hit == key then return { 'recorded' } end
local data = cjson.decode(about) -- anything that can fail comes before the first write
turn.hit = key
save_turn(turns, number, turn)
redis.call('HSET', calls, unpack(fields))
redis.call('PEXPIRE', calls, ttl_ms)
write_journal(journal, 'guard.hit', data)
write_changes(session)
return { 'recorded' }

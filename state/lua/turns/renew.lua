--- turns/renew: extends a lease while its turn is running.
--- KEYS: session turns lock
--- ARGV: number token lease_ms
--- USES: clock status locks turns
--- ANSWERS: renewed lost
--- GUARANTEE: only the owner can renew, never past the turn's deadline, never after the session has ended
--- or the turn was dropped.
local owner, deadline = lock_owner(lock)
if owner ~= token or FINAL[redis.call('HGET', session, 'status')] then return { 'lost' } end
local turn = read_turn(turns, number)
if not turn or turn.token ~= token or turn.status ~= 'speaking' then return { 'lost' } end
local left = deadline - NOW
if left <= 0 then return { 'lost' } end
redis.call('PEXPIRE', lock, math.min(lease_ms, left))
return { 'renewed' }

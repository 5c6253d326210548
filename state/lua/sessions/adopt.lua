--- sessions/adopt: registers a sub-session in the session at the top of its tree, before it is opened.
--- KEYS: session
--- ARGV: child entry limit
--- USES: status
--- ANSWERS: adopted ended full missing
--- GUARANTEE: a tree has at most `limit` sub-sessions, each registered once, however often it is sent. A session that
--- has ended gets no new one.
local status = redis.call('HGET', session, 'status')
if not status then return { 'missing' } end
if redis.call('HEXISTS', session, 'child:' .. child) == 1 then return { 'adopted' } end
if FINAL[status] then return { 'ended' } end
if tonumber(redis.call('HGET', session, 'children') or 0) >= tonumber(limit) then return { 'full' } end
redis.call('HSET', session, 'child:' .. child, entry)
redis.call('HINCRBY', session, 'children', 1)
return { 'adopted' }

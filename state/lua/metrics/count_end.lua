--- metrics/count_end: removes an ended session from the unfinished ones and counts its end.
--- KEYS: counts live
--- ARGV: session counter
--- USES:
--- ANSWERS: counted again
--- GUARANTEE: both or none; the end of a session that is not an unfinished one was counted before.
if not redis.call('ZSCORE', live, session) then return { 'again' } end
redis.call('HINCRBY', counts, counter, 1)
redis.call('ZREM', live, session)
return { 'counted' }

--- recording/add: stores the record of a turn.
--- KEYS: recorded
--- ARGV: token record most_bytes keep_ms
--- USES:
--- ANSWERS: added full
--- GUARANTEE: a repeated call changes nothing but the time to live. The records of a session that are not archived
--- yet never exceed `most_bytes` together. The field `bytes` holds their size.
redis.call('PEXPIRE', recorded, keep_ms)
if redis.call('HEXISTS', recorded, token) == 1 then return { 'added' } end
if tonumber(redis.call('HGET', recorded, 'bytes') or 0) + #record > tonumber(most_bytes) then return { 'full' } end
redis.call('HSET', recorded, token, record)
redis.call('HINCRBY', recorded, 'bytes', #record)
redis.call('PEXPIRE', recorded, keep_ms)
return { 'added' }

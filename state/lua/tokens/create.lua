--- tokens/create: stores a token until it expires.
--- KEYS: index token
--- ARGV: id max_tokens ttl_ms fields*
--- USES: clock
--- ANSWERS: created(expires_ms) full()
--- GUARANTEE: at most `max_tokens` tokens exist. The index expires with the last of them.
redis.call('ZREMRANGEBYSCORE', index, '-inf', NOW)
if redis.call('ZCARD', index) >= tonumber(max_tokens) then return { 'full' } end
local expires_ms = string.format('%.0f', NOW + tonumber(ttl_ms))
redis.call('HSET', token, 'created_ms', string.format('%.0f', NOW), 'expires_ms', expires_ms, unpack(fields))
redis.call('PEXPIREAT', token, expires_ms)
redis.call('ZADD', index, expires_ms, id)
local last = redis.call('ZRANGE', index, -1, -1, 'WITHSCORES')
redis.call('PEXPIREAT', index, string.format('%.0f', tonumber(last[2])))
return { 'created', expires_ms }

--- recording/remove: removes records of turns, which the archive now has.
--- KEYS: recorded
--- ARGV: tokens*
--- USES:
--- ANSWERS: removed
--- GUARANTEE: a repeated call changes nothing. Without a record left, the key is gone.
for _, token in ipairs(tokens) do
  local bytes = redis.call('HSTRLEN', recorded, token)
  if redis.call('HDEL', recorded, token) == 1 then redis.call('HINCRBY', recorded, 'bytes', -bytes) end
end
if redis.call('HLEN', recorded) <= 1 then redis.call('DEL', recorded) end
return { 'removed' }

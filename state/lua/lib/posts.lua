--- lib/posts: messages from outside that wait for the next write.
--- USES:

--- Appends the messages that were posted from outside while a turn was running.
local function let_in(k)
  local posts = redis.call('HGET', k.session, 'posts')
  if not posts then return end
  for _, message in ipairs(cjson.decode(posts)) do
    redis.call('XADD', k.dialog, '*', 'm', message)
    redis.call('HINCRBY', k.session, 'messages', 1)
  end
  redis.call('HDEL', k.session, 'posts')
end

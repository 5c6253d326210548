--- lib/posts: messages from outside that wait for the next write.
--- USES: changes

--- Append the messages that were posted from outside while a turn was running.
local function flush_posts(keys)
  local posts = known_field(keys.session, 'posts')
  if not posts then return end
  for _, message in ipairs(cjson.decode(posts)) do
    redis.call('XADD', keys.dialog, '*', 'm', message)
    count_field(keys.session, 'messages', 1)
  end
  redis.call('HDEL', keys.session, 'posts')
  KNOWN.posts = false
end

--- sessions/post: adds a message from outside to the dialog: at once, or later if a turn is running, or the session is suspended or a draft.
--- KEYS: session dialog journal turns
--- ARGV: request message about
--- USES: status view turns events requests posts
--- ANSWERS: posted(view) full(view) refused(view) missing
--- GUARANTEE: the message appears in the dialog once. If it cannot be added at once, it waits for the next turn that is
--- written, the next step or resume. At most 100 messages wait, of about 4 MB. The same `request` again changes nothing,
--- also after others: the newest 64 are known.
local status = redis.call('HGET', session, 'status')
if not status then return { 'missing' } end
if is_known_request(session, 'posted_by', request) then return view(session, turns, 'posted') end
if FINAL[status] then return view(session, turns, 'refused') end
local waiting = redis.call('HGET', session, 'posts')
local posts = cjson.decode(waiting or '[]')
if #posts >= 100 or waiting and #waiting > 4194304 then return view(session, turns, 'full') end
posts[#posts + 1] = message
redis.call('HSET', session, 'posts', cjson.encode(posts))
remember_request(session, 'posted_by', request)
write_journal(journal, 'message.posted', cjson.decode(about))
local is_busy = status ~= 'active'
each_turn(turns, function(_, turn)
  if turn.status == 'speaking' then is_busy = true end
end)
if not is_busy then flush_posts({ session = session, dialog = dialog }) end
return view(session, turns, 'posted')

--- sessions/open: creates a session, once.
--- KEYS: session dialog events journal turns board attachments
--- ARGV: digest collab spec roles deadline_ms archive start parent format draft messages*
--- USES: clock view events starting keys
--- ANSWERS: opened(view) exists(view) conflict
--- GUARANTEE: a second submit of the same collab changes nothing; with other content it gets `conflict`. `parent`: id of
--- the session whose turn it answers; empty: it is no sub-session.
--- `start`, in a fork, holds the hashes with which it begins: planner state, counters, results for the first plan, board.
--- `draft`: '1': the session waits for `activate`, and its messages wait like posts: nothing reads them before.
local known = redis.call('HGET', session, 'digest')
if known then
  if known ~= digest then return { 'conflict' } end
  return view(session, turns, 'exists')
end
redis.call('HSET', session, 'format', format, 'digest', digest, 'collab', collab, 'spec', spec,
  'status', 'draft', 'dialog_status', 'active', 'version', 0, 'next', 1, 'opened_ms', NOW, 'updated_ms', NOW)
if start ~= '' then
  local preset = cjson.decode(start)
  redis.call('HSET', session, 'start', start)
  write_hashes({ session, turns, board }, { preset.fields, preset.turns, preset.board })
end
if redis.call('PERSIST', attachments) == 1 then
  redis.call('HSET', session, 'attachments', redis.call('HLEN', attachments) - 1)
end
if parent ~= '' then redis.call('HSET', session, 'parent', parent) end
if archive ~= '' then redis.call('HSET', session, 'archive', archive) end
write_journal(journal, 'session.created', { dialog = 'active' })
if draft == '1' then
  redis.call('HSET', session, 'draft_deadline_ms', deadline_ms)
  if #messages > 0 then redis.call('HSET', session, 'posts', cjson.encode(messages)) end
else
  start_session({ session = session, events = events, journal = journal }, roles, deadline_ms)
  if #messages > 0 then redis.call('HSET', session, 'messages', #messages) end
  for _, message in ipairs(messages) do redis.call('XADD', dialog, '*', 'm', message) end
end
return view(session, turns, 'opened')

--- archive/restore: makes a lost session live again, after its streams are refilled.
--- KEYS: session dialog events journal turns board attachments
--- ARGV: collab spec hashes request
--- USES: keys view
--- ANSWERS: restored(view) exists
--- GUARANTEE: a live session does not change; a repeated request gets the same answer. Locks are not restored: their holders have lost them.
if redis.call('EXISTS', session) == 1 then
  if redis.call('HGET', session, 'restored_by') ~= request then return { 'exists' } end
  return view(session, turns, 'restored')
end
local stored = cjson.decode(hashes)
create_hashes({ session, turns, board }, { stored.fields, stored.turns, stored.board })
redis.call('HSET', session, 'collab', collab, 'spec', spec, 'archive', 'owed', 'restored_by', request)
persist_keys({ dialog, events, journal, attachments })
return view(session, turns, 'restored')

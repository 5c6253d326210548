--- lib/transitions: changes of the session's status.
--- USES: clock view events

--- Set the status of the session and its dialog; the caller has checked the transition. `by`: the actor, if known.
local function set_status(keys, status, dialog_status, request, by)
  local actor = by ~= '' and by or nil
  redis.call('HSET', keys.session, 'status', status, 'dialog_status', dialog_status, 'updated_ms', NOW,
    'moved_by', request or '')
  if actor then redis.call('HSET', keys.session, 'actor', actor) else redis.call('HDEL', keys.session, 'actor') end
  write_journal(keys.journal, 'session.' .. status, { dialog = dialog_status, by = actor })
end

--- Answer a status change without a valid transition: `refused`, unless it repeats the newest change
--- (same request, because its first answer was lost).
local function answer_repeated(session, turns, request, answer)
  return view(session, turns, redis.call('HGET', session, 'moved_by') == request and answer or 'refused')
end

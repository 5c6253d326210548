--- lib/transitions: changes of the session's status.
--- USES: clock view events

--- Sets the status of the session and its dialog; the caller has checked the transition.
local function move(k, status, dialog_status, request)
  redis.call('HSET', k.session, 'status', status, 'dialog_status', dialog_status, 'updated_ms', NOW,
    'moved_by', request or '')
  note(k.journal, 'session.' .. status, { dialog = dialog_status })
end

--- Answers a status change without a valid transition: refused, unless it repeats the newest change
--- (same request, because its first answer was lost).
local function again(session, turns, request, answer)
  return view(session, turns, redis.call('HGET', session, 'moved_by') == request and answer or 'refused')
end

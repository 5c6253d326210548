--- begin: gives a turn's floor to one worker, with the next fencing number and a lease.
--- KEYS: session dialog events turns lock
--- ARGV: number scope token lease_ms timeout_ms window task_id parent_id
--- ANSWERS: granted(view, grant) done(view) overdue(view) waiting(view) woken(view) busy lost early inactive(view) unknown missing
--- GUARANTEE: at most one live token a scope; fencing numbers only rise; the same token asked again
--- (its first answer was lost) gets the same grant again while its lease lasts, and never a second one.
--- A parked turn is not given out: one worker at a time is told (`woken`) that something is due for it.
local status = redis.call('HGET', session, 'status')
if not status then return { 'missing' } end
if status ~= 'active' then return view(session, turns, 'inactive') end
local turn = fetch(turns, number)
if not turn then
  local is_past = tonumber(number) < tonumber(redis.call('HGET', session, 'next'))
  return is_past and view(session, turns, 'done') or { 'unknown' }
end
if turn.scope ~= scope then return { 'unknown' } end
if not is_open(turn) then return view(session, turns, 'done') end
local deadline = tonumber(redis.call('HGET', session, 'deadline_ms') or nil)
if deadline and NOW >= deadline then return view(session, turns, 'overdue') end
if turn.status == 'parked' then
  if NOW < turn.wake_ms then return view(session, turns, 'waiting') end
  turn.wake_ms, turn.dispatches, turn.swept_ms = NOW + lease_ms, 0, nil
  save(turns, number, turn)
  return view(session, turns, 'woken')
end
if NOW < turn.not_before then return { 'early' } end

local owner = lock_owner(lock)
local is_old = turn.token == token or string.find(turn.former or '', token, 1, true)
if is_old and owner ~= token then return { 'lost' } end
if owner and turn.token ~= token then return { 'busy' } end
if not owner then
  redis.call('SET', lock, token .. '|' .. (NOW + timeout_ms), 'PX', math.min(lease_ms, timeout_ms))
  if turn.status == 'speaking' then
    close_grant(events, number, turn, { outcome = 'expired', messages = 0 })
    turn.takeovers = (turn.takeovers or 0) + 1
  end
  if turn.token then turn.former = (turn.former or '') .. turn.token .. ' ' end
  turn.status, turn.token, turn.grants = 'speaking', token, turn.grants + 1
  turn.fence = redis.call('HINCRBY', session, 'fence', 1)
  turn.began_ms, turn.swept_ms, turn.dispatches, turn.request = NOW, nil, 0, nil
  save(turns, number, turn)
  local payload = turn_payload(number, turn)
  payload.task_id, payload.parent_id = task_id, parent_id ~= '' and parent_id or nil
  emit(events, 'MAPTurnDispatched', payload, nil, { turn.role_id })
end
local messages = {}
if tonumber(window) > 0 then
  local newest = turn.until_id or '+'
  for i, entry in ipairs(redis.call('XREVRANGE', dialog, newest, '-', 'COUNT', window)) do
    messages[i] = entry[2][2]
  end
end
return view(session, turns, 'granted', { turn.fence, turn.grants, turn.failures, turn.takeovers or 0, turn.agent or '', messages })

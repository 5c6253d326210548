--- turns/begin: grants a turn to one worker, with the next fencing number and a lease.
--- KEYS: session dialog events turns lock listening
--- ARGV: number scope token lease_ms timeout_ms window task_id parent_id wish admitted process seen seen_sha
--- USES: clock locks view turns granting changes
--- ANSWERS: granted(view, grant) done(view) overdue(view) waiting(view) woken(view) short(view) exhausted(view, lack) busy lost early inactive(view) unknown missing
--- GUARANTEE: at most one live token per scope; fencing numbers only rise. The same token sent again (because its
--- first answer was lost) gets the same grant again while its lease lasts, and never a second one.
--- `wish`, in a session with limits, is what the turn may spend: it is reserved in the same instant as the grant, so
--- concurrent turns never overspend together. A turn that does not fit waits (`short`) while others may
--- release a part of their reservation; if no other turn can, the answer is `exhausted`.
--- A parked turn is not granted: one worker at a time gets `woken`, because work is due for the turn.
--- `process` names the process of the worker, if it reports its end: then `release_lost` may end the lease early.
--- `seen` and `seen_sha` are the newest entry of the dialog that the worker has, and the SHA-1 of its text: the answer then has
--- only the entries after it. A dialog without this entry (a failover lost it) is answered whole.
--- A worker that was not `admitted` gets no grant: the turn was parked or over when the worker looked.
local NO_SHARES = { given = {} }
local keys = { session = session, dialog = dialog, events = events, turns = turns }
local claim = {
  token = token, lease_ms = lease_ms, timeout_ms = timeout_ms, window = window, task_id = task_id, parent_id = parent_id,
  process = process, seen = seen, seen_sha = seen_sha, lock = lock, listening = listening,
}
local SPENT = { tokens = { 'input_tokens', 'output_tokens' }, cost = { 'cost_micros' } }

--- Return the number of turns without a worker. They share the rest of the limit if the cost of a turn is not known.
local function count_planned()
  local count = 0
  each_turn(turns, function(_, other)
    if other.status == 'planned' then count = count + 1 end
  end)
  return math.max(count, 1)
end

--- Return true if another turn has reserved some of a unit.
local function may_be_released(unit)
  local may = false
  each_turn(turns, function(other_number, other)
    if other_number ~= number and (other['reserved_' .. unit] or 0) > 0 then may = true end
  end)
  return may
end

--- Return the reservation of the turn in one unit (nil if too little is left), what is left, and what the turn wants.
local function share_of(turn, unit, want)
  local used = (redis.call('HGET', session, 'reserved_' .. unit) or 0) - (turn['reserved_' .. unit] or 0)
  for _, name in ipairs(SPENT[unit]) do used = used + (redis.call('HGET', session, name) or 0) end
  local left = math.max(want.limit - used, 0)
  local most = want.most or math.max(-math.floor(-left / count_planned()), want.least)
  if most <= left then return most, left, most end
  if left < want.least or may_be_released(unit) then return nil, left, most end
  return left, left, most
end

--- Return the reservation of the turn in every unit. `lacks` names what is missing; `unavailable` describes a unit
--- whose lack no other turn can end.
local function shares_of(turn)
  local shares = { given = {}, lacks = nil, unavailable = nil }
  for unit, want in pairs(cjson.decode(wish)) do
    local given, left, most = share_of(turn, unit, want)
    shares.given[unit] = given or 0
    if not given then
      shares.lacks = shares.lacks or {}
      shares.lacks[unit] = most
      if not may_be_released(unit) then shares.unavailable = { unit, left, most } end
    end
  end
  return shares
end

know_fields(session, 'status', 'deadline_ms', 'fence', 'map_events')
local status, deadline = KNOWN.status, KNOWN.deadline_ms
if not status then return { 'missing' } end
if status ~= 'active' then return view(session, turns, 'inactive') end
local turn = read_turn(turns, number)
if not turn then
  local is_past = tonumber(number) < tonumber(redis.call('HGET', session, 'next'))
  return is_past and view(session, turns, 'done') or { 'unknown' }
end
if turn.scope ~= scope then return { 'unknown' } end
if not is_open(turn) then return view(session, turns, 'done') end
if deadline and NOW >= tonumber(deadline) then return view(session, turns, 'overdue') end
if turn.status == 'parked' then
  if NOW < turn.wake_ms then return view(session, turns, 'waiting') end
  turn.wake_ms, turn.dispatches, turn.swept_ms, turn.queued_ms = NOW + lease_ms, 0, nil, nil
  save_turn(turns, number, turn)
  return view(session, turns, 'woken')
end
if NOW < turn.not_before or admitted == '' then return { 'early' } end

local owner = lock_owner(lock)
local is_old = turn.token == token or string.find(turn.former or '', token, 1, true)
if is_old and owner ~= token then return { 'lost' } end
if owner and turn.token ~= token then return { 'busy' } end
if not owner then
  local shares = wish ~= '' and shares_of(turn) or NO_SHARES
  if shares.unavailable then return view(session, turns, 'exhausted', shares.unavailable) end
  if shares.lacks then
    turn.short_tokens, turn.short_cost, turn.queued_ms = shares.lacks.tokens, shares.lacks.cost, nil
    save_turn(turns, number, turn)
    return view(session, turns, 'short')
  end
  grant_turn(keys, number, turn, claim, shares.given)
end
return view(session, turns, 'granted', describe_grant(keys, turn, claim))

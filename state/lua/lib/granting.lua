--- lib/granting: grants a turn to a worker.
--- USES: clock turns events grants limits changes

--- Return the newest entries of the dialog that a turn may see, newest first, and whether they continue `claim.seen`.
local function window_of(keys, turn, claim)
  local count, newest, seen = tonumber(claim.window), turn.until_id or '+', claim.seen
  if count == 0 then return {}, false end
  if seen ~= '' then
    local entries = redis.call('XREVRANGE', keys.dialog, newest, seen, 'COUNT', count + 1)
    local last = table.remove(entries)
    if last and last[1] == seen and redis.sha1hex(last[2][2]) == claim.seen_sha then return entries, true end
  end
  return redis.call('XREVRANGE', keys.dialog, newest, '-', 'COUNT', count), false
end

--- Grant a turn that no worker has, with the next fencing number and a lease. `claim` has the arguments of
--- `begin` by name, and its keys `lock` and `listening`; `given`: what the turn reserves of the session's limits, by unit.
local function grant_turn(keys, number, turn, claim, given)
  local deadline = NOW + claim.timeout_ms
  redis.call('SET', claim.lock, claim.token .. '|' .. deadline, 'PX', math.min(claim.lease_ms, claim.timeout_ms))
  turn.took_over = turn.status == 'speaking' or nil
  if turn.took_over then
    close_grant(keys.events, number, turn, { outcome = 'expired', messages = 0, lost_worker = turn.lost_worker })
    turn.takeovers = (turn.takeovers or 0) + 1
  end
  turn.lost_worker, turn.process = nil, claim.process ~= '' and claim.token .. ' ' .. claim.process or nil
  if turn.token then turn.former = (turn.former or '') .. turn.token .. ' ' end
  turn.status, turn.token, turn.grants = 'speaking', claim.token, turn.grants + 1
  turn.fence = count_field(keys.session, 'fence', 1)
  turn.waited_ms = turn.queued_ms and math.max(NOW - turn.queued_ms, 0) or nil
  turn.began_ms, turn.swept_ms, turn.queued_ms, turn.dispatches, turn.request = NOW, nil, nil, 0, nil
  turn.short_tokens, turn.short_cost, turn.lacks = nil, nil, nil
  for unit, amount in pairs(given) do reserve(keys.session, turn, unit, amount) end
  save_turn(keys.turns, number, turn)
  local payload = turn_payload(number, turn)
  payload.task_id, payload.parent_id = claim.task_id, claim.parent_id ~= '' and claim.parent_id or nil
  payload.waited_ms = turn.waited_ms
  emit(keys.events, 'MAPTurnDispatched', payload, nil, { turn.role_id })
end

--- Return what a worker must know of its grant.
local function describe_grant(keys, turn, claim)
  local messages, continues = window_of(keys, turn, claim)
  return {
    turn.fence, turn.grants, turn.failures, turn.takeovers or 0, turn.agent or '', messages, turn.took_over and 1 or 0,
    continues and 1 or 0, redis.call('EXISTS', claim.listening),
  }
end

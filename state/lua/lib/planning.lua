--- lib/planning: applies a plan.
--- USES: clock locks turns events posts ending

--- Applies a plan made for the current version of the session; `locks` are those of the turns that it drops.
--- Returns the numbers of the new turns. By `planned_by` a planner whose answer was lost recognises its own plan.
local function apply(k, locks, plan)
  for _, number in ipairs(plan.consumed) do
    redis.call('HDEL', k.turns, number, number .. ':result')
  end
  for id, entry in pairs(plan.board) do redis.call('HSET', k.board, id, entry) end
  redis.call('HINCRBY', k.session, 'version', 1)
  redis.call('HSET', k.session, 'stop', plan.stop, 'rounds', plan.rounds, 'planned_by', plan.id)
  note_all(k.journal, plan.notes)
  local held = holders(locks)
  if plan.finish then
    finish(k, plan.finish, held)
    return {}
  end
  for _, number in ipairs(plan.drop) do
    local turn = fetch(k.turns, number)
    if turn and is_open(turn) then drop(k, number, turn, 'dropped', held) end
  end
  if plan.promotes then
    local collab, spec = unpack(redis.call('HMGET', k.session, 'next_collab', 'next_spec'))
    redis.call('HSET', k.session, 'collab', collab, 'spec', spec)
    redis.call('HDEL', k.session, 'next_collab', 'next_spec', 'awaited')
    redis.call('HINCRBY', k.session, 'edition', 1)
    note(k.journal, 'roster.changed', { participants = plan.promotes })
  end
  let_in(k)
  local snapshot = redis.call('XREVRANGE', k.dialog, '+', '-', 'COUNT', 1)[1]
  local numbers = {}
  for _, planned in ipairs(plan.turns) do
    local number = redis.call('HINCRBY', k.session, 'next', 1) - 1
    local turn = planned.record
    turn.status, turn.grants, turn.failures, turn.dispatches = 'planned', 0, 0, 0
    turn.dispatched_ms, turn.queued_ms, turn.not_before = NOW, NOW, 0
    if turn.snapshot then turn.until_id = snapshot and snapshot[1] or '0-0' end
    redis.call('HSET', k.turns, number, cjson.encode(turn), number .. ':plan', planned.plan)
    numbers[#numbers + 1] = number
  end
  redis.call('HSET', k.session, 'planner', plan.planner, 'ends_round', plan.ends_round, 'updated_ms', NOW)
  if plan.announce then
    emit(k.events, 'MAPBroadcastSent', plan.announce.payload, plan.announce.payload.broadcaster_role_id, plan.announce.targets)
  end
  return numbers
end

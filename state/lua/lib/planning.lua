--- lib/planning: the next step, or the end, of a session.
--- USES: clock locks turns events posts ending changes granting

--- Maximum number of newest messages among which that of a broadcast is looked for.
local NEWEST = 20

--- Return the text that a broadcast sends: the message of a turn, or the newest one of the user; nil: there is none.
local function broadcast_text(keys, announce)
  for _, entry in ipairs(redis.call('XREVRANGE', keys.dialog, '+', '-', 'COUNT', NEWEST)) do
    local message = cjson.decode(entry[2][2])
    local data = message.event and message.event.data or {}
    if announce.turn and data.turn_number == announce.turn then return message.content end
    if message.role == announce.user and not data.turn_number then return message.content end
  end
end

--- Return whether the turn of a plan may be granted while it is planned.
local function may_grant(keys, plan, claim)
  local deadline = known_field(keys.session, 'deadline_ms')
  if deadline and NOW >= tonumber(deadline) then return false end
  return #plan.turns == 1 and plan.turns[1].record.scope == claim.scope and not lock_owner(keys.lock)
end

--- Apply a plan made for the current version of the session; `locks` are those of the turns that it drops.
--- `written`: the turn that this script has written, and removed; nil: none. `claim`: the claim of a worker on the turn of a
--- plan with one turn, whose lock is `keys.lock`; nil: none. Return the numbers of the new turns, and the grant. A planner whose
--- answer was lost recognises its own plan by `planned_by`.
local function apply_plan(keys, locks, plan, written, claim)
  for _, number in ipairs(plan.consumed) do
    if number ~= written then redis.call('HDEL', keys.turns, number, number .. ':result') end
  end
  for id, entry in pairs(plan.board) do redis.call('HSET', keys.board, id, entry) end
  count_field(keys.session, 'version', 1)
  change_field('stop', plan.stop)
  change_field('rounds', plan.rounds)
  change_field('planned_by', plan.id)
  write_journal_entries(keys.journal, plan.notes)
  local held = locks_by_holder(locks)
  if plan.finish then
    finish_session(keys, plan.finish, held)
    return {}
  end
  for _, number in ipairs(plan.drop) do
    local turn = read_turn(keys.turns, number)
    if turn and is_open(turn) then drop_turn(keys, number, turn, 'dropped', held) end
  end
  if plan.promotes then
    local collab, spec = unpack(redis.call('HMGET', keys.session, 'next_collab', 'next_spec'))
    redis.call('HSET', keys.session, 'collab', collab, 'spec', spec)
    redis.call('HDEL', keys.session, 'next_collab', 'next_spec', 'awaited')
    redis.call('HINCRBY', keys.session, 'edition', 1)
    write_journal(keys.journal, 'roster.changed', { participants = plan.promotes })
  end
  flush_posts(keys)
  local is_granted = claim and may_grant(keys, plan, claim)
  local snapshot
  local numbers = {}
  for _, new_turn in ipairs(plan.turns) do
    local number = count_field(keys.session, 'next', 1) - 1
    local turn = new_turn.record
    turn.status, turn.grants, turn.failures, turn.dispatches = 'planned', 0, 0, 0
    turn.dispatched_ms, turn.queued_ms, turn.not_before = NOW, NOW, 0
    if turn.snapshot then
      snapshot = snapshot or redis.call('XREVRANGE', keys.dialog, '+', '-', 'COUNT', 1)[1] or { '0-0' }
      turn.until_id = snapshot[1]
    end
    if is_granted then
      redis.call('HSET', keys.turns, number .. ':plan', new_turn.plan)
    else
      redis.call('HSET', keys.turns, number, cjson.encode(turn), number .. ':plan', new_turn.plan)
    end
    numbers[#numbers + 1] = number
  end
  change_field('planner', plan.planner)
  change_field('ends_round', plan.ends_round)
  change_field('updated_ms', NOW)
  if plan.announce then
    local text = broadcast_text(keys, plan.announce)
    if text then plan.announce.payload.message = { content = text } end
    emit(keys.events, 'MAPBroadcastSent', plan.announce.payload, plan.announce.payload.broadcaster_role_id, plan.announce.targets)
  end
  if not is_granted then return numbers end
  local turn = plan.turns[1].record
  grant_turn(keys, numbers[1], turn, claim, {})
  return numbers, describe_grant(keys, turn, claim)
end

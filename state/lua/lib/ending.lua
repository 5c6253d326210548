--- lib/ending: dropping turns, and the end of a session.
--- USES: clock turns events transitions grants late_spending refusals limits posts changes

--- Remove an open turn from the session, and its lock if the turn still holds it (another turn of the same scope
--- may have taken the lock). The record stays for a while, to recognise a late commit.
local function drop_turn(keys, number, turn, outcome, held)
  if turn.status == 'speaking' or turn.status == 'held' or turn.status == 'parked' then
    close_grant(keys.events, number, turn, { outcome = outcome, messages = 0 })
    if held[turn.token] then redis.call('DEL', held[turn.token]) end
  end
  if turn.status == 'held' then record_dropped(keys.journal, number, turn, turn.token) end
  report_spending(keys.journal, number, turn, turn.token) -- an attempt may have reported late, while the turn has no running worker
  turn.status, turn.settled_ms = 'dropped', NOW
  release_reservation(keys.session, turn)
  -- About 64 are remembered: a later commit is refused like any stale one.
  local old = read_turn(keys.turns, number - 64)
  if old and old.status == 'dropped' then redis.call('HDEL', keys.turns, number - 64) end
  save_turn(keys.turns, number, turn)
  redis.call('HDEL', keys.turns, number .. ':plan', number .. ':held', number .. ':wait')
end

--- End the session in one step: drop open turns, record the reason, and let the live keys expire.
local function finish_session(keys, ending, held)
  each_turn(keys.turns, function(number, turn)
    if is_open(turn) then drop_turn(keys, number, turn, 'cancelled', held) end
  end)
  flush_posts(keys)
  redis.call('HSET', keys.session, 'reason', ending.reason, 'detail', ending.detail, 'ended_ms', NOW)
  set_status(keys, ending.status, ending.status, ending.request, ending.by)
  emit(keys.events, 'MAPSessionCompleted', {
    status = ending.status, reason = ending.reason, detail = ending.detail,
    turns = count_field(keys.session, 'closed', 0),
  })
  -- Data that is not archived yet must not expire: `archive/expire` sets the expiry later.
  if redis.call('HGET', keys.session, 'archive') == 'owed' then return end
  for _, key in pairs(keys) do redis.call('PEXPIREAT', key, NOW + ending.retention_ms) end
end

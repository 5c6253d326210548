--- lib/ending: drops turns and ends the session.
--- USES: clock turns events transitions grants late refusals limits posts

--- Removes an open turn from the session, and its lock if the turn still holds it (another turn of the same scope
--- may have taken the lock). The record stays for a while, to recognise a late commit.
local function drop(k, number, turn, outcome, held)
  if turn.status == 'speaking' or turn.status == 'held' or turn.status == 'parked' then
    close_grant(k.events, number, turn, { outcome = outcome, messages = 0 })
    if held[turn.token] then redis.call('DEL', held[turn.token]) end
  end
  if turn.status == 'held' then lament(k.journal, number, turn, turn.token) end
  tell_spent(k.journal, number, turn, turn.token) -- an attempt may have reported late, while the turn has no running worker
  turn.status, turn.settled_ms = 'dropped', NOW
  give_back(k.session, turn)
    -- About 64 are remembered: a later commit is refused like any stale one.
  local old = fetch(k.turns, number - 64)
  if old and old.status == 'dropped' then redis.call('HDEL', k.turns, number - 64) end
  save(k.turns, number, turn)
  redis.call('HDEL', k.turns, number .. ':plan', number .. ':held', number .. ':wait')
end

--- Ends the session in one step: closes open turns, records why, and lets the live keys expire.
local function finish(k, ending, held)
  each_turn(k.turns, function(number, turn)
    if is_open(turn) then drop(k, number, turn, 'cancelled', held) end
  end)
  let_in(k)
  redis.call('HSET', k.session, 'reason', ending.reason, 'detail', ending.detail, 'ended_ms', NOW)
  move(k, ending.status, ending.status, ending.request)
  emit(k.events, 'MAPSessionCompleted', {
    status = ending.status, reason = ending.reason, detail = ending.detail,
    turns = tonumber(redis.call('HGET', k.session, 'closed')),
  })
    -- Data that is not archived yet must not expire: archived.lua sets the expiry later.
  if redis.call('HGET', k.session, 'archive') == 'owed' then return end
  for _, key in pairs(k) do redis.call('PEXPIREAT', key, NOW + ending.retention_ms) end
end

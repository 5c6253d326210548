--- lib/writing: writes the output of a turn.
--- USES: clock events accounts grants limits posts changes

--- Write and close one turn: messages, counters, events. The only place that appends to a dialog in progress.
--- If the turn is `indexed`, its scope is `item:ID`, and `ID:message` on the board becomes the place of its
--- last message; readers look for the message of a turn without a place.
--- `is_consumed`: the plan that is applied next consumes the turn, so that its record is removed at once.
local function write_turn(keys, number, turn, outcome, is_consumed)
  local last
  for _, message in ipairs(outcome.messages) do
    last = redis.call('XADD', keys.dialog, '*', 'm', message)
  end
  if turn.indexed and last and keys.board then
    redis.call('HSET', keys.board, string.sub(turn.scope, 6) .. ':message', last)
  end
  count_field(keys.session, 'closed', 1)
  if outcome.kind == 'skipped' then count_field(keys.session, 'skipped', 1) end
  if #outcome.messages > 0 then count_field(keys.session, 'messages', #outcome.messages) end
  close_grant(keys.events, number, turn, {
    outcome = outcome.kind, messages = #outcome.messages, usage = usage_by_name({ 0, 0, 0, 0, 0 }), left_out = outcome.left_out, error = outcome.error,
    record = outcome.record,
  })
  if turn.broadcast then
    emit(keys.events, 'MAPBroadcastReceived', {
      receiver_role_id = turn.role_id,
      response = { turn_number = tonumber(number), participant_id = turn.participant, outcome = outcome.kind },
    }, turn.role_id)
  end
  write_journal_entries(keys.journal, outcome.notes)
  turn.status, turn.settled_ms = 'closed', NOW
  release_reservation(keys.session, turn)
  if turn.grants > 1 then keep_accounts(keys.session, number, turn) end
  if is_consumed then
    redis.call('HDEL', keys.turns, number, number .. ':plan', number .. ':held', number .. ':wait')
  else
    redis.call('HSET', keys.turns, number, cjson.encode(turn), number .. ':result', outcome.result)
    redis.call('HDEL', keys.turns, number .. ':plan', number .. ':held', number .. ':wait')
  end
  -- To recognise a repeated write: the holder by its token, the sender of a reply by its request.
  local writer = turn.request or turn.token
  change_field('updated_ms', turn.settled_ms)
  change_field('token:' .. number % 64, number .. '|' .. writer)
  flush_posts(keys)
end

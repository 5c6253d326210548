--- parked/reply: ends the wait of a parked turn: writes the answer, or returns the turn to the workers with it.
--- KEYS: session dialog events journal turns
--- ARGV: number reply request rule kind result record error wait agent outcome about spent messages*
--- USES: clock view turns events requests accounts grants limits writing
--- ANSWERS: replied(view) returned(view) held(view) late early foreign double inactive(view) unknown missing
--- GUARANTEE: at most one reply ends a wait, only under the turn's current reply token.
--- `rule`: `person` is valid before the deadline, `deadline` after it, `failure` and `child` at any time. With a `kind`
--- the turn is closed (or held, while the session is suspended); without one it is returned to the workers,
--- with the answer in `wait`, and to `agent`, if one is named. `spent`: usage of the sub-session that answers, which
--- is booked as usage of the turn. The same `request` again (its first answer
--- was lost) changes nothing and gets the same answer.
local status = redis.call('HGET', session, 'status')
if not status then return { 'missing' } end
local turn = read_turn(turns, number)
if not turn and tonumber(number) >= tonumber(redis.call('HGET', session, 'next')) then return { 'unknown' } end
if not turn or turn.status == 'closed' then
  if writer_of(session, number) == request then return view(session, turns, 'replied') end
  return { 'double' }
end
if turn.status == 'dropped' then return view(session, turns, 'inactive') end
if turn.request == request then
  if turn.status == 'held' then return view(session, turns, 'held') end
  return view(session, turns, 'returned')
end
if turn.reply ~= reply then return { 'foreign' } end
if turn.status ~= 'parked' then return { 'double' } end
if rule == 'person' and turn.until_ms and NOW > turn.until_ms then return { 'late' } end
if rule == 'deadline' and not (turn.until_ms and NOW >= turn.until_ms) then return { 'early' } end

turn.request, turn.task, turn.worker, turn.child, turn.batch = request, nil, nil, nil, nil
if spent ~= '' then book_accounts(session, turn, spent) end
release_reservation(session, turn)
local data = cjson.decode(about)
data.turn_number, data.participant_id = tonumber(number), turn.participant
write_journal(journal, 'turn.answered', data)
if kind == '' then
  close_grant(events, number, turn, {
    outcome = outcome, messages = 0, error = error ~= '' and error or nil, retried = outcome == 'failed' or nil,
  })
  turn.former = (turn.former or '') .. turn.token .. ' '
  turn.status, turn.token, turn.failures = 'planned', nil, 0
  turn.dispatched_ms, turn.queued_ms, turn.dispatches, turn.not_before = NOW, NOW, 0, 0
  if agent ~= '' then turn.agent = agent end
  save_turn(turns, number, turn)
  redis.call('HSET', turns, number .. ':wait', wait)
  return view(session, turns, 'returned')
end
local content = {
  kind = kind, result = result, record = record ~= '' and record or nil, error = error ~= '' and error or nil,
  messages = messages,
}
if status == 'suspended' then
  turn.status = 'held'
  redis.call('HSET', turns, number, cjson.encode(turn), number .. ':held', cjson.encode(content))
  return view(session, turns, 'held')
end
write_turn({ session = session, dialog = dialog, events = events, journal = journal, turns = turns }, number, turn, content)
return view(session, turns, 'replied')

--- turns/commit: writes the output of a turn, all or nothing, together with the next step if there is one.
--- KEYS: session dialog events journal turns board attachments listening lock locks*
--- ARGV: number token kind result record error spent left_out notes expected plan claim messages*
--- USES: locks view turns requests accounts grants late_spending refusals limits writing planning changes
--- ANSWERS: committed(view, numbers, grant) held(view) done(view) stale(view) inactive(view) unknown missing
--- BOOKS: `spent`, the accounts of this attempt and of others it has found, also if it is refused; the view has the new part.
--- GUARANTEE: a turn is written at most once, and only under the token that the lock and the turn both
--- hold now ("equal", not "at least": a server that lost its last writes may count lower than before).
--- While the session is suspended nothing is appended: the commit is held, and resume writes it.
--- `plan`, if given, was made for version `expected` under the assumption of this outcome; if anything else
--- happened since, it is ignored and `numbers` is empty.
--- `claim`, if given, is what `begin` would get for the one turn of the plan, whose lock is the last of `locks`: the turn is
--- granted in the same instant as it is planned, so its worker need not begin it. Not in a session with limits.
know_fields(session, 'status', 'version', 'next', 'closed', 'messages', 'posts', 'map_events', 'fence', 'deadline_ms')
local status = KNOWN.status
if not status then return { 'missing' } end
local turn = read_turn(turns, number)
local keys = { session = session, dialog = dialog, events = events, journal = journal, turns = turns, board = board, attachments = attachments }
if not turn and tonumber(number) >= tonumber(KNOWN.next) then return { 'unknown' } end
if not turn or turn.status == 'closed' then
  if writer_of(session, number) == token then return view(session, turns, 'done') end
  refuse_writer(session, events, journal, { turn_number = tonumber(number), refused_token_id = token })
  local late = book_late(keys, number, token, spent)
  return view(session, turns, 'stale', nil, late)
end
if turn.status == 'dropped' then
  record_dropped(journal, number, turn, token)
  local late = book_late(keys, number, token, spent)
  return view(session, turns, 'inactive', nil, late)
end
if turn.status == 'held' and turn.token == token then return view(session, turns, 'held') end
if turn.token ~= token or lock_owner(lock) ~= token then
  local conflict = turn_payload(number, turn)
  conflict.refused_token_id = token
  refuse_writer(session, events, journal, conflict, turn.role_id)
  local late = book_late(keys, number, token, spent)
  return view(session, turns, 'stale', nil, late)
end

local outcome = {
  kind = kind, result = result, record = record ~= '' and record or nil, error = error ~= '' and error or nil, messages = messages,
  left_out = tonumber(left_out) > 0 and tonumber(left_out) or nil,
  notes = notes ~= '' and cjson.decode(notes) or nil,
}
-- Anything that can fail comes before the first write.
local next_step = plan ~= '' and cjson.decode(plan)
local claimed = claim ~= '' and cjson.decode(claim) or nil
if claimed then claimed.lock, claimed.listening = table.remove(locks), listening end
local booked = book_accounts(session, turn, spent)
redis.call('DEL', lock)
if status == 'suspended' then
  turn.status = 'held'
  release_reservation(session, turn)
  redis.call('HSET', turns, number, cjson.encode(turn), number .. ':held', cjson.encode(outcome))
  return view(session, turns, 'held', nil, booked)
end
local numbers, grant = {}, nil
if next_step and KNOWN.version == expected then
  local is_consumed = false
  for _, other in ipairs(next_step.consumed) do is_consumed = is_consumed or other == number end
  write_turn(keys, number, turn, outcome, is_consumed)
  numbers, grant = apply_plan(keys, locks, next_step, is_consumed and number, claimed)
else
  write_turn(keys, number, turn, outcome)
end
return view(session, turns, 'committed', numbers, booked, grant)

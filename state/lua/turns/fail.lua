--- turns/fail: returns a turn after its agent failed, for a later retry or for another agent.
--- KEYS: session events journal turns lock
--- ARGV: number token delay_ms agent error spent notes
--- USES: clock locks view turns events accounts grants late_spending limits
--- ANSWERS: retried(view, due_ms) stale(view) done(view) missing
--- BOOKS: `spent`, the accounts of this attempt and of others it has found, also if it is refused; the view has the new part.
--- GUARANTEE: only the holder can return its turn, and once; no worker gets it before the delay has passed.
--- It reserves nothing of the session's limits any more: the spending of its attempts is booked.
if redis.call('EXISTS', session) == 0 then return { 'missing' } end
local turn = read_turn(turns, number)
local keys = { session = session, journal = journal, turns = turns }
if not turn or not is_open(turn) then
  local late = book_late(keys, number, token, spent)
  return view(session, turns, 'done', nil, late)
end
if turn.token == token and turn.status == 'planned' then return view(session, turns, 'retried', turn.not_before) end
if turn.token ~= token or lock_owner(lock) ~= token then
  local late = book_late(keys, number, token, spent)
  return view(session, turns, 'stale', nil, late)
end
local entries = notes ~= '' and cjson.decode(notes) -- anything that can fail comes before the first write
local booked = book_accounts(session, turn, spent)
close_grant(events, number, turn, { outcome = 'failed', messages = 0, error = error, retried = true })
write_journal_entries(journal, entries)
redis.call('DEL', lock)
release_reservation(session, turn)
turn.status, turn.failures = 'planned', turn.failures + 1
turn.not_before = NOW + delay_ms
turn.dispatched_ms, turn.queued_ms, turn.dispatches = turn.not_before, turn.not_before, 0
if agent ~= '' then turn.agent, turn.failures = agent, 0 end
save_turn(turns, number, turn)
return view(session, turns, 'retried', turn.not_before, booked)

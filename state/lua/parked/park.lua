--- parked/park: parks a turn until an answer arrives: its lock is free, and no worker waits.
--- KEYS: session dialog events journal turns spare lock
--- ARGV: number token reply until_in_ms wake_in_ms wait about spent task worker notes batch format child*
--- USES: clock locks view turns events accounts late_spending limits compacting formats
--- ANSWERS: parked(view) stale(view) done(view) missing
--- BOOKS: `spent`, the accounts of this attempt and of others it has found, also if it is refused; the view has the new part.
--- GUARANTEE: only the holder can park its turn, and the grant stays open: the answer is written under
--- its token. From now on only a caller with the reply token `reply` can close the turn. The turn reserves
--- nothing of the session's limits any more: its spending is booked. But while it waits for a sub-session (`child`: its
--- id, and the tokens and the cost that it may spend) these amounts stay reserved. `task` and `worker`: the Celery task
--- that parks the turn and its worker, kept until the wait ends, so that monitors learn of the end. A turn that waits
--- for a provider's batch (`batch`: its handle) keeps what is left of its reservation, because the provider charges it. The session may
--- wait for long, so its streams are compacted.
if redis.call('EXISTS', session) == 0 then return { 'missing' } end
local turn = read_turn(turns, number)
local keys = { session = session, journal = journal, turns = turns }
if not turn or not is_open(turn) then
  local late = book_late(keys, number, token, spent)
  return view(session, turns, 'done', nil, late)
end
if turn.status == 'parked' and turn.reply == reply then return view(session, turns, 'parked') end
if turn.status ~= 'speaking' or turn.token ~= token or lock_owner(lock) ~= token then
  local late = book_late(keys, number, token, spent)
  return view(session, turns, 'stale', nil, late)
end
local entries = notes ~= '' and cjson.decode(notes) -- anything that can fail comes before the first write
local booked = book_accounts(session, turn, spent)
redis.call('DEL', lock)
turn.status, turn.reply, turn.parked_ms, turn.request = 'parked', reply, NOW, nil
turn.until_ms = until_in_ms ~= '' and NOW + until_in_ms or nil
turn.wake_ms = NOW + wake_in_ms
turn.dispatches, turn.swept_ms, turn.queued_ms = 0, nil, nil
turn.task, turn.worker = task, worker
turn.snapshot, turn.broadcast = turn.snapshot or nil, turn.broadcast or nil -- without two fields that are `false`
turn.child = child[1]
turn.batch = batch ~= '' and batch or nil
local tokens, cost = tonumber(child[2] or 0), tonumber(child[3] or 0)
if turn.batch then
  tokens = math.max((turn.reserved_tokens or 0) - booked[1] - booked[2], 0)
  cost = math.max((turn.reserved_cost or 0) - booked[5], 0)
end
reserve(session, turn, 'tokens', tokens)
reserve(session, turn, 'cost', cost)
save_turn(turns, number, turn)
redis.call('HSET', turns, number .. ':wait', wait)
raise_format(session, format)
local data = cjson.decode(about)
data.turn_number, data.participant_id = tonumber(number), turn.participant
data.until_time = turn.until_ms and iso_time(turn.until_ms) or nil
write_journal_entries(journal, entries)
write_journal(journal, 'turn.parked', data)
compact_streams({ dialog, events, journal }, spare)
return view(session, turns, 'parked', nil, booked)

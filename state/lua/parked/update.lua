--- parked/update: records the work done for a parked turn, and when to look at it again.
--- KEYS: session journal turns
--- ARGV: number reply new_reply until_ms wake_ms wait event about happened
--- USES: view turns events changes
--- ANSWERS: tended(view) gone missing
--- GUARANTEE: changes a turn only while it is parked under `reply`; with another `new_reply` the old token is no longer
--- valid. With `happened` the event is recorded even if the wait has ended in the meantime: it reports something
--- that was done outside. Without an `event` nothing is recorded.
if redis.call('EXISTS', session) == 0 then return { 'missing' } end
local turn = read_turn(turns, number)
local data = cjson.decode(about)
data.turn_number, data.participant_id = tonumber(number), turn and turn.participant or data.participant_id
local is_parked = turn and turn.status == 'parked'
if is_parked and turn.reply ~= reply and turn.reply == new_reply then return view(session, turns, 'tended') end
if not is_parked or turn.reply ~= reply then
  if happened ~= '' then write_journal(journal, event, data) end
  write_changes(session)
  return { 'gone' }
end
turn.reply = new_reply
turn.until_ms = tonumber(until_ms) -- empty: nil
turn.wake_ms = tonumber(wake_ms)
turn.dispatches, turn.swept_ms = 0, nil
save_turn(turns, number, turn)
redis.call('HSET', turns, number .. ':wait', wait)
if event ~= '' then write_journal(journal, event, data) end
return view(session, turns, 'tended')

--- tend: writes down what was done for a parked turn, and when it is to be looked at again.
--- KEYS: session journal turns
--- ARGV: number reply new_reply until_ms wake_ms wait event about
--- ANSWERS: tended(view) gone missing
--- GUARANTEE: changes a turn only while it is parked under `reply`; under `new_reply`, when that is
--- another one, the old token opens nothing any more.
if redis.call('EXISTS', session) == 0 then return { 'missing' } end
local turn = fetch(turns, number)
if not turn or turn.status ~= 'parked' then return { 'gone' } end
if turn.reply ~= reply then
  if turn.reply == new_reply then return view(session, turns, 'tended') end
  return { 'gone' }
end
turn.reply = new_reply
turn.until_ms = until_ms ~= '' and tonumber(until_ms) or nil
turn.wake_ms = tonumber(wake_ms)
turn.dispatches, turn.swept_ms = 0, nil
save(turns, number, turn)
redis.call('HSET', turns, number .. ':wait', wait)
local told = cjson.decode(about)
told.turn_number, told.participant_id = tonumber(number), turn.participant
note(journal, event, told)
return view(session, turns, 'tended')

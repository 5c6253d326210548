--- park: lays a turn aside until somebody answers: its lock is free, and no worker waits.
--- KEYS: session journal turns lock
--- ARGV: number token reply until_in_ms wake_in_ms wait about spent_tokens spent_cost
--- ANSWERS: parked(view) stale done missing
--- GUARANTEE: only the holder parks its turn, and the grant stays open: the answer is written under
--- its token. From this instant only who knows the reply token `reply` can close the turn. Of what it holds
--- of the session's limits it keeps what it has spent.
if redis.call('EXISTS', session) == 0 then return { 'missing' } end
local turn = fetch(turns, number)
if not turn or not is_open(turn) then return { 'done' } end
if turn.status == 'parked' and turn.reply == reply then return view(session, turns, 'parked') end
if turn.status ~= 'speaking' or turn.token ~= token or lock_owner(lock) ~= token then return { 'stale' } end
redis.call('DEL', lock)
turn.status, turn.reply, turn.parked_ms, turn.request = 'parked', reply, NOW, nil
turn.until_ms = until_in_ms ~= '' and NOW + until_in_ms or nil
turn.wake_ms = NOW + wake_in_ms
turn.dispatches, turn.swept_ms = 0, nil
if turn.reserved_tokens then turn.kept_tokens = tonumber(spent_tokens) end
if turn.reserved_cost then turn.kept_cost = tonumber(spent_cost) end
give_back(session, turn)
save(turns, number, turn)
redis.call('HSET', turns, number .. ':wait', wait)
local told = cjson.decode(about)
told.turn_number, told.participant_id = tonumber(number), turn.participant
told.until_time = turn.until_ms and iso(turn.until_ms) or nil
note(journal, 'turn.parked', told)
return view(session, turns, 'parked')

--- commit: writes what a turn said, all or nothing, and the next step with it when there is one.
--- KEYS: session dialog events journal turns board lock locks*
--- ARGV: number token kind result error input_tokens output_tokens requests cost_micros expected plan messages*
--- ANSWERS: committed(view, numbers) held done(view) stale(view) inactive(view) unknown missing
--- GUARANTEE: a turn is written at most once, only under the token that the lock and the turn both
--- hold now ("equal", not "at least": a server that lost its last writes may count lower than before).
--- While the session is suspended nothing is appended: the commit is held and settled by resume.
--- `plan`, when given, was made for version `expected` assuming this very outcome; if anything else
--- happened since, it is left out and `numbers` is empty.
local status = redis.call('HGET', session, 'status')
if not status then return { 'missing' } end
local turn = fetch(turns, number)
if not turn then
  local is_past = tonumber(number) < tonumber(redis.call('HGET', session, 'next'))
  return is_past and view(session, turns, 'done') or { 'unknown' }
end
if turn.status == 'closed' then return view(session, turns, 'done') end
if turn.status == 'dropped' then
  note(journal, 'turn.dropped', { turn_number = tonumber(number), participant_id = turn.participant, token_id = token })
  redis.call('HDEL', turns, number)
  return view(session, turns, 'inactive')
end
if turn.status == 'held' and turn.token == token then return { 'held' } end
if turn.token ~= token or lock_owner(lock) ~= token then
  local conflict = turn_payload(number, turn)
  conflict.refused_token_id, conflict.conflict = token, 'stale_token'
  emit(events, 'MAPConflictDetected', conflict, turn.role_id)
  conflict.resolution = 'refused'
  emit(events, 'MAPConflictResolved', conflict, turn.role_id)
  return view(session, turns, 'stale')
end

local k = { session = session, dialog = dialog, events = events, journal = journal, turns = turns, board = board }
local outcome = {
  kind = kind, result = result, error = error ~= '' and error or nil, messages = messages,
  input_tokens = input_tokens, output_tokens = output_tokens, requests = requests, cost_micros = cost_micros,
}
redis.call('DEL', lock)
if status == 'suspended' then
  turn.status = 'held'
  redis.call('HSET', turns, number, cjson.encode(turn), number .. ':held', cjson.encode(outcome))
  return { 'held' }
end
settle(k, number, turn, outcome)
local numbers = {}
if plan ~= '' and redis.call('HGET', session, 'version') == expected then
  numbers = apply(k, locks, cjson.decode(plan))
end
return view(session, turns, 'committed', numbers)

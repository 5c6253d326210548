--- fail: gives a turn back after its agent failed, to be tried again later, or by another agent.
--- KEYS: session events turns lock
--- ARGV: number token delay_ms agent error spent_tokens spent_cost
--- ANSWERS: retried(view, due_ms) stale done missing
--- GUARANTEE: only the holder gives its turn back, and once; nobody takes it before the delay has passed.
--- Of what it holds of the session's limits it keeps what its attempts have spent.
if redis.call('EXISTS', session) == 0 then return { 'missing' } end
local turn = fetch(turns, number)
if not turn or not is_open(turn) then return { 'done' } end
if turn.token == token and turn.status == 'planned' then return view(session, turns, 'retried', turn.not_before) end
if turn.token ~= token or lock_owner(lock) ~= token then return { 'stale' } end
close_grant(events, number, turn, { outcome = 'failed', messages = 0, error = error, retried = true })
redis.call('DEL', lock)
if turn.reserved_tokens then turn.kept_tokens = math.max(turn.kept_tokens or 0, spent_tokens) end
if turn.reserved_cost then turn.kept_cost = math.max(turn.kept_cost or 0, spent_cost) end
give_back(session, turn)
turn.status, turn.failures = 'planned', turn.failures + 1
turn.not_before = NOW + delay_ms
turn.dispatched_ms, turn.dispatches = turn.not_before, 0
if agent ~= '' then turn.agent, turn.failures = agent, 0 end
save(turns, number, turn)
return view(session, turns, 'retried', turn.not_before)

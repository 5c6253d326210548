--- turns/await_agent: marks a turn as waiting for a worker that can run its agent, or ends this wait.
--- KEYS: session turns lock
--- ARGV: number agent delay_ms
--- USES: clock locks view turns
--- ANSWERS: deferred(view, due_ms) done(view) missing
--- GUARANTEE: counts as no attempt: no grant, no fencing number, no event. Only a turn without a holder changes: one that
--- has not begun, or whose lease has expired. A retry that is not due yet does not become due earlier.
--- `agent`: the agent that no worker can run; the turn is sent again after the delay. '': a worker can run it now, so the
--- sweep sends the turn at once.
if redis.call('EXISTS', session) == 0 then return { 'missing' } end
local turn = read_turn(turns, number)
local is_free = turn and (turn.status == 'planned' or (turn.status == 'speaking' and not lock_owner(lock)))
if not is_free or (agent == '' and not turn.lacks) then return view(session, turns, 'done') end
if agent ~= '' and not turn.lacks and NOW < turn.not_before then
  return view(session, turns, 'deferred', turn.not_before)
end
local due_ms = NOW + (agent == '' and 0 or delay_ms)
turn.lacks = agent ~= '' and agent or nil
turn.not_before, turn.dispatched_ms, turn.swept_ms, turn.dispatches = due_ms, due_ms, due_ms, 0
turn.queued_ms = turn.queued_ms or NOW
save_turn(turns, number, turn)
return view(session, turns, 'deferred', due_ms)

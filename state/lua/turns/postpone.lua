--- turns/postpone: postpones a turn that has not begun: it is sent again after the delay, not earlier.
--- KEYS: session turns
--- ARGV: number delay_ms
--- USES: clock view turns
--- ANSWERS: deferred(view, due_ms) done(view) missing
--- GUARANTEE: counts as no failure; a turn that is running or over does not change.
if redis.call('EXISTS', session) == 0 then return { 'missing' } end
local turn = read_turn(turns, number)
if not turn or turn.status ~= 'planned' then return view(session, turns, 'done') end
turn.not_before = math.max(turn.not_before, NOW + delay_ms)
turn.dispatched_ms, turn.queued_ms, turn.dispatches = turn.not_before, turn.not_before, 0
save_turn(turns, number, turn)
return view(session, turns, 'deferred', turn.not_before)

--- sweep: finds what a session is owed: turns whose message was lost, leases that ran out, a step nobody planned.
--- KEYS: session turns locks*
--- ARGV: grace_ms scopes*
--- ANSWERS: swept(view, due_ms, numbers, advance) ended missing
--- GUARANTEE: changes nothing but the time of the next look, and pushes that forward before it answers:
--- two sweeps at once give the same turn out once. A turn never begun is given out again after grace,
--- twice that, four times that, ... so that a long queue is not flooded. A parked turn is owed nothing before
--- its `wake_ms`, and keeps no session from ending that was asked to stop.
local status = redis.call('HGET', session, 'status')
if not status then return { 'missing' } end
if FINAL[status] then return { 'ended' } end
local now, grace = NOW, tonumber(grace_ms)
local far = now + 3600000
if status == 'suspended' then return view(session, turns, 'swept', { now + 60000, {}, 0 }) end

local left = {}
for i, scope in ipairs(scopes) do left[scope] = redis.call('PTTL', locks[i]) end
local is_stopping = redis.call('HGET', session, 'stop_requested') == '1'
local due, numbers, open, waiting_ms = far, {}, 0, nil
each_turn(turns, function(number, turn)
  if turn.status == 'closed' then
    waiting_ms = math.max(waiting_ms or 0, turn.settled_ms)
  elseif turn.status == 'dropped' then
    if now > turn.settled_ms + 600000 then redis.call('HDEL', turns, number) end
  else
    if not (is_stopping and turn.status == 'parked') then open = open + 1 end
    local next_ms
    if turn.status == 'parked' then
      next_ms = math.max(turn.wake_ms, turn.swept_ms or 0)
    elseif turn.status == 'speaking' then
      local ttl = left[turn.scope] or grace
      next_ms = ttl >= 0 and now + ttl + 1 or math.max(turn.began_ms, turn.swept_ms or 0)
    else
      local is_retry = turn.dispatches == 0 and turn.not_before > 0
      next_ms = turn.dispatched_ms + (is_retry and 0 or grace * 2 ^ math.min(turn.dispatches, 6))
    end
    if next_ms <= now then
      numbers[#numbers + 1] = tonumber(number)
      turn.dispatches, turn.dispatched_ms = turn.dispatches + 1, now
      turn.queued_ms = turn.queued_ms or now
      turn.swept_ms = now + grace * 2 ^ math.min(turn.dispatches - 1, 6)
      save(turns, number, turn)
      next_ms = now + grace
    end
    due = math.min(due, next_ms)
  end
end)

local advance = 0
local deadline = tonumber(redis.call('HGET', session, 'deadline_ms') or nil)
local advanced = tonumber(redis.call('HGET', session, 'advanced_ms') or '0')
local owed_ms
if waiting_ms then owed_ms = waiting_ms + grace
elseif open == 0 then owed_ms = tonumber(redis.call('HGET', session, 'updated_ms')) + grace end
if deadline then owed_ms = math.min(owed_ms or deadline, deadline) end
if owed_ms then
  owed_ms = math.max(owed_ms, advanced + grace)
  if owed_ms <= now then
    advance = 1
    redis.call('HSET', session, 'advanced_ms', now)
    owed_ms = now + grace
  end
  due = math.min(due, owed_ms)
end
return view(session, turns, 'swept', { due, numbers, advance })

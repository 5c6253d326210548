--- sweep: finds what a session is owed: turns whose message was lost, leases that ran out, a step nobody planned.
--- KEYS: session turns locks*
--- ARGV: grace_ms taken_ms probes scopes*
--- ANSWERS: swept(view, due_ms, numbers, advance, held) ended missing
--- GUARANTEE: changes nothing but the time of the next look, and pushes that forward before it answers:
--- two sweeps at once give the same turn out once. A turn never begun is given out again after grace,
--- twice that, four times that, ..., and so is a step that nobody planned. A parked turn is owed nothing before
--- its `wake_ms`, and keeps no session from ending that was asked to stop.
--- At most one message of a turn, or of a step, is in the queue: what was sent is sent again only once workers have taken what was
--- sent after it (`taken_ms`; '': the queue is empty). Else it is `held`, but for the first `probes`.
local status = redis.call('HGET', session, 'status')
if not status then return { 'missing' } end
if FINAL[status] then return { 'ended' } end
local now, grace = NOW, tonumber(grace_ms)
local far = now + 3600000
if status == 'suspended' then return view(session, turns, 'swept', { now + 60000, {}, 0, 0 }) end

--- Whoever sends reads the clock first: the messages of two who do so at the same time may change places.
local passed = taken_ms == '' and now or tonumber(taken_ms) - math.min(grace / 4, 2000)
local left_probes, held = tonumber(probes), 0
local next_look = now + grace

--- Whether a message may be sent now, of which one was sent at `sent_ms` before; 0: none was.
local function may_send(sent_ms)
  if sent_ms == 0 or sent_ms <= passed then return true end
  left_probes = left_probes - 1
  if left_probes >= 0 then return true end
  -- The longer it waits, the seldomer it is looked at: a long queue must not keep the sweep busy.
  held, next_look = 1, math.max(next_look, now + (now - sent_ms) / 2)
  return false
end

--- Milliseconds to wait when something was sent so often.
local function pause(times) return grace * 2 ^ math.max(math.min(times, 6), 0) end

local left = {}
for i, scope in ipairs(scopes) do left[scope] = redis.call('PTTL', locks[i]) end
local is_stopping = redis.call('HGET', session, 'stop_requested') == '1'
local due, numbers, open, waiting_ms, is_coming = far, {}, 0, nil, false
each_turn(turns, function(number, turn)
  if turn.status == 'closed' then
    waiting_ms = math.max(waiting_ms or 0, turn.settled_ms)
  elseif turn.status == 'dropped' then
    if now > turn.settled_ms + 600000 then redis.call('HDEL', turns, number) end
  else
    if not (is_stopping and turn.status == 'parked') then open = open + 1 end
    local next_ms
    local is_sent = turn.dispatches > 0
    if turn.status == 'parked' then
      next_ms = math.max(turn.wake_ms, turn.swept_ms or 0)
    elseif turn.status == 'speaking' then
      local ttl = left[turn.scope] or grace
      next_ms = ttl >= 0 and now + ttl + 1 or math.max(turn.began_ms, turn.swept_ms or 0)
    else
      local is_retry = turn.dispatches == 0 and turn.not_before > 0
      next_ms = turn.dispatched_ms + (is_retry and 0 or pause(turn.dispatches))
      is_sent = not is_retry
      is_coming = is_coming or is_sent and turn.dispatched_ms > passed
    end
    if next_ms <= now then
      local is_sendable = may_send(is_sent and turn.dispatched_ms or 0)
      next_ms = is_sendable and now + grace or next_look
      if is_sendable then
        numbers[#numbers + 1] = tonumber(number)
        turn.dispatches, turn.dispatched_ms = turn.dispatches + 1, now
        turn.queued_ms = turn.queued_ms or now
        turn.swept_ms = now + pause(turn.dispatches - 1)
        save(turns, number, turn)
      end
    end
    due = math.min(due, next_ms)
  end
end)

local advance = 0
local deadline = tonumber(redis.call('HGET', session, 'deadline_ms') or nil)
local advanced = tonumber(redis.call('HGET', session, 'advanced_ms') or '0')
--- Since when there is something to plan: whoever made it so has planned, or sent a message.
local since = waiting_ms or open == 0 and tonumber(redis.call('HGET', session, 'updated_ms')) or nil
local advances = since and advanced >= since and tonumber(redis.call('HGET', session, 'advances') or '0') or 0
local owed_ms
if since then owed_ms = math.max(since + grace, advanced + pause(advances - 1)) end
if deadline then owed_ms = math.min(owed_ms or deadline, math.max(deadline, advanced + grace)) end
if owed_ms then
  if owed_ms <= now then
    -- Whoever takes the message of an open turn sees to the step, too.
    if not is_coming and may_send(math.max(since or 0, advanced)) then
      advance = 1
      redis.call('HSET', session, 'advanced_ms', now, 'advances', advances + 1)
    end
    owed_ms = deadline and deadline > now and math.min(next_look, deadline) or next_look
  end
  due = math.min(due, owed_ms)
end
return view(session, turns, 'swept', { due, numbers, advance, held })

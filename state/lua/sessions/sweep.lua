--- sessions/sweep: finds the due work of a session: turns with a lost message, expired leases, a step without a plan.
--- KEYS: session turns locks*
--- ARGV: grace_ms taken_ms probes scopes*
--- USES: clock status view turns accounts
--- ANSWERS: swept(view, due_ms, numbers, advance, held, parent) ended missing
--- GUARANTEE: changes only the time of the next look, which it sets before it answers, and removes old records of
--- dropped turns. So two concurrent sweeps give the same turn out once. A turn that never began is given out again after
--- the grace time, then twice, four times that, and so on; the same holds for an unplanned step. A parked turn has no due
--- work before its `wake_ms`, and does not prevent the end of a session that was asked to stop.
--- At most one message of a turn, or of a step, is in the queue: it is sent again only after workers have taken messages
--- that were sent after it (`taken_ms`; '': the queue is empty). Otherwise it is `held`, except for the first `probes`:
--- the caller looks again when a probe may be possible, which `due_ms` does not show.
--- A sub-session is looked at again within a minute, because it follows its parent.
local status = redis.call('HGET', session, 'status')
if not status then return { 'missing' } end
if FINAL[status] then return { 'ended' } end
local now, grace = NOW, tonumber(grace_ms)
local parent = redis.call('HGET', session, 'parent') or ''
local latest = now + (parent == '' and 3600000 or math.min(6 * grace, 60000))
if status == 'suspended' or status == 'draft' then
  return view(session, turns, 'swept', { math.min(now + 60000, latest), {}, 0, 0, parent })
end

--- Workers have taken all messages that were sent until then. A sender reads the clock first, so the messages of two
--- concurrent senders may change places.
local taken_until = taken_ms == '' and now or tonumber(taken_ms) - math.min(grace / 4, 2000)
local probes_left, held = tonumber(probes), 0

--- Return true if a message may be sent now. Its last copy was sent at `sent_ms`; 0: none was sent.
local function may_send(sent_ms)
  if sent_ms == 0 or sent_ms <= taken_until then return true end
  probes_left = probes_left - 1
  if probes_left >= 0 then return true end
  held = 1
  return false
end

--- Return the milliseconds to wait after a message was sent `times` times.
local function backoff(times) return grace * 2 ^ math.max(math.min(times, 6), 0) end

local ttl_by_scope = {}
for i, scope in ipairs(scopes) do ttl_by_scope[scope] = redis.call('PTTL', locks[i]) end
local is_stopping = redis.call('HGET', session, 'stop_requested') == '1'
local due, numbers, open, waiting_ms, is_message_sent = latest, {}, 0, nil, false
each_turn(turns, function(number, turn)
  if turn.status == 'closed' then
    waiting_ms = math.max(waiting_ms or 0, turn.settled_ms)
  elseif turn.status == 'dropped' then
    if now > turn.settled_ms + 600000 then
      if turn.grants > 0 then keep_accounts(session, number, turn) end
      redis.call('HDEL', turns, number)
    end
  else
    if not (is_stopping and turn.status == 'parked' and not (turn.child or turn.batch)) then open = open + 1 end
    local next_ms
    local is_sent = turn.dispatches > 0
    if turn.status == 'parked' then
      next_ms = math.max(turn.wake_ms, turn.swept_ms or 0)
    elseif turn.status == 'speaking' then
      local ttl = ttl_by_scope[turn.scope] or grace
      next_ms = ttl >= 0 and now + ttl + 1 or math.max(turn.began_ms, turn.swept_ms or 0)
    else
      local is_retry = turn.dispatches == 0 and turn.not_before > 0
      next_ms = turn.dispatched_ms + (is_retry and 0 or backoff(turn.dispatches))
      is_sent = not is_retry
      is_message_sent = is_message_sent or is_sent and turn.dispatched_ms > taken_until
    end
    if next_ms <= now then
      local is_sendable = may_send(is_sent and turn.dispatched_ms or 0)
      next_ms = is_sendable and now + grace or latest
      if is_sendable then
        numbers[#numbers + 1] = tonumber(number)
        turn.dispatches, turn.dispatched_ms = turn.dispatches + 1, now
        turn.queued_ms = turn.queued_ms or now
        turn.swept_ms = now + backoff(turn.dispatches - 1)
        save_turn(turns, number, turn)
      end
    end
    due = math.min(due, next_ms)
  end
end)

local advance = 0
local deadline = tonumber(redis.call('HGET', session, 'deadline_ms') or nil)
local advanced = tonumber(redis.call('HGET', session, 'advanced_ms') or '0')
--- Since when a step waits to be planned. Until then the caller that caused it has planned it, or has sent a message.
local step_since = waiting_ms or open == 0 and tonumber(redis.call('HGET', session, 'updated_ms')) or nil
local advances = step_since and advanced >= step_since and tonumber(redis.call('HGET', session, 'advances') or '0') or 0
local step_due_ms
if step_since then step_due_ms = math.max(step_since + grace, advanced + backoff(advances - 1)) end
if deadline then step_due_ms = math.min(step_due_ms or deadline, math.max(deadline, advanced + grace)) end
if step_due_ms then
  if step_due_ms <= now then
    -- The worker that takes the message of an open turn plans the step, too.
    if not is_message_sent and may_send(math.max(step_since or 0, advanced)) then
      advance = 1
      redis.call('HSET', session, 'advanced_ms', now, 'advances', advances + 1)
    end
    step_due_ms = held == 1 and latest or now + grace
    if deadline and deadline > now then step_due_ms = math.min(step_due_ms, deadline) end
  end
  due = math.min(due, step_due_ms)
end
return view(session, turns, 'swept', { due, numbers, advance, held, parent })

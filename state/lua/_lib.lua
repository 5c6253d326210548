--- Library of all verbs. The loader puts this file in front of each script.
--- VIEW: status dialog_status version closed skipped next fence rounds ends_round planner stop input_tokens output_tokens cached_tokens requests cost_micros messages opened_ms updated_ms ended_ms deadline_ms stop_requested planned_by reason detail edition awaited
---
--- Fields of the session hash:
---   the fields of VIEW above; `collab`, `spec` and `digest` as submitted
---   `moved_by`: request of the newest status change
---   `advanced_ms`, `advances`: when a step was last dispatched again, and how often
---   `token:0` to `token:63`: writers of the newest turns
---   `archive`: `owed` (not archived yet) or `kept`; empty without an archive
---   `restored_by`: request that restored the session
---   `map_events`, `notes`: numbers of its events
---   `reserved_tokens`, `reserved_cost`: what open turns may still spend, the sum over their records
--- Fields of a steered session:
---   `edition`: number of changes of `collab` and `spec`
---   `next_collab`, `next_spec`: replace `collab` and `spec` when the next round begins (`awaited`)
---   `posts`: messages that wait until the next turn is written
---   `steered_by`, `posted_by`: the newest 64 requests
--- Fields of the turns hash, for every turn that is open or not yet consumed by a plan:
---   N         the record: scalars only, because cjson returns those unchanged
---   N:plan    the planned turn as the planner wrote it (never decoded here)
---   N:result  the result as the worker wrote it (never decoded here)
---   N:held    a commit that arrived while the session was suspended
---   N:wait    what a parked turn waits for, with the answers so far (never decoded here)
--- `queued_ms` of a record: since when a message of the turn waits for a worker; absent: no message waits.
--- A turn number below `next` without a record has been closed and consumed. Exactly-once needs no
--- more memory than this, so the hash stays small in any session.

--- Every attempt of a turn has a usage account under its token: what this attempt alone has spent so far. The record
--- of a turn holds the accounts (`spent`), and the part of their sum that its events have reported (`told`). For late
--- writers, the accounts of the newest 64 turns that were written after more than one attempt stay in the slots
--- `spent:0` to `spent:63` of the session hash.

local FINAL = { completed = true, cancelled = true }

--- Time of the script: milliseconds since the epoch by the server's clock, the same throughout the script.
local TIME = redis.call('TIME')
local NOW = TIME[1] * 1000 + math.floor(TIME[2] / 1000)

--- Milliseconds since the epoch as `YYYY-MM-DDTHH:MM:SS.mmmZ` (civil calendar from day numbers).
local function iso(ms)
  local seconds = math.floor(ms / 1000)
  local z = math.floor(seconds / 86400) + 719468
  local era = math.floor(z / 146097)
  local doe = z - era * 146097
  local yoe = math.floor((doe - math.floor(doe / 1460) + math.floor(doe / 36524) - math.floor(doe / 146096)) / 365)
  local doy = doe - (365 * yoe + math.floor(yoe / 4) - math.floor(yoe / 100))
  local mp = math.floor((5 * doy + 2) / 153)
  local day = doy - math.floor((153 * mp + 2) / 5) + 1
  local month = mp < 10 and mp + 3 or mp - 9
  local year = yoe + era * 400 + (month <= 2 and 1 or 0)
  local rest = seconds % 86400
  return string.format('%04d-%02d-%02dT%02d:%02d:%02d.%03dZ', year, month, day,
    math.floor(rest / 3600), math.floor(rest / 60) % 60, rest % 60, ms % 1000)
end

--- A UUID in the form of version 4, the same for the same seed: scripts have no source of randomness,
--- and the session id in the seed is random.
local function uuid(seed)
  local hex = redis.sha1hex(seed)
  local variant = string.sub('89ab', tonumber(string.sub(hex, 17, 17), 16) % 4 + 1)
  return string.sub(hex, 1, 8) .. '-' .. string.sub(hex, 9, 12) .. '-4' .. string.sub(hex, 14, 16) .. '-' ..
    string.sub(variant, 1, 1) .. string.sub(hex, 18, 20) .. '-' .. string.sub(hex, 21, 32)
end

local function session_id()
  return string.match(KEYS[1], '{(.-)}')
end

local function append(stream, event, kind)
  event.timestamp = iso(NOW)
    -- The seed contains the time because an id may be used again after its session has expired.
  event.event_id = uuid(session_id() .. kind .. redis.call('HINCRBY', KEYS[1], kind, 1) .. event.timestamp)
  redis.call('XADD', stream, '*', 'e', cjson.encode(event))
end

--- Records a MAP event (mplp-map-event.schema.json).
local function emit(events, event_type, payload, initiator, targets)
  if targets and #targets == 0 then targets = nil end -- cjson would make it an object
  append(events, {
    event_type = event_type, session_id = session_id(), payload = payload,
    initiator_role = initiator, target_roles = targets,
  }, 'map_events')
end

--- Records an embedded event (common/events.schema.json): for facts without a MAP event type.
local function note(journal, event_type, data)
  append(journal, { event_type = event_type, source = 'collab', data = data }, 'notes')
end

--- Adds the notes of a turn to the journal: pairs of a type and its data; nil or false: none.
local function note_all(journal, notes)
  for _, entry in ipairs(notes or {}) do note(journal, entry[1], entry[2]) end
end

local function turn_payload(number, turn)
  return {
    role_id = turn.role_uuid, turn_number = tonumber(number), token_id = turn.token,
    participant_id = turn.participant, fence = turn.fence, attempt = turn.grants,
  }
end

--- Amounts of a usage account, in their stored order.
local AMOUNTS = { 'input_tokens', 'output_tokens', 'cached_tokens', 'requests', 'cost_micros' }

--- Amounts by name.
local function named(amounts)
  local usage = {}
  for i, name in ipairs(AMOUNTS) do usage[name] = amounts[i] end
  return usage
end

--- Books accounts, each once, however often they are sent: for a known account only the increase counts. Returns the new part.
local function book(session, turn, accounts)
  local new = { 0, 0, 0, 0, 0 }
  for token, amounts in pairs(cjson.decode(accounts)) do
    turn.spent = turn.spent or {}
    local known = turn.spent[token] or { 0, 0, 0, 0, 0 }
    for i, name in ipairs(AMOUNTS) do
      local more = amounts[i] - known[i]
      if more > 0 then
        redis.call('HINCRBY', session, name, more)
        known[i], new[i] = amounts[i], new[i] + more
      end
    end
    turn.spent[token] = known
  end
  return new
end

--- Spending of a turn that none of its events has reported, by name; nil: none. It counts as reported from now on.
local function untold(turn)
  local sum, rest, is_some = { 0, 0, 0, 0, 0 }, {}, false
  for _, amounts in pairs(turn.spent or {}) do
    for i = 1, #AMOUNTS do sum[i] = sum[i] + amounts[i] end
  end
  for i = 1, #AMOUNTS do
    rest[i] = sum[i] - (turn.told and turn.told[i] or 0)
    is_some = is_some or rest[i] > 0
  end
  if is_some then turn.told = sum end
  return is_some and named(rest) or nil
end

--- Closes a grant: every MAPTurnDispatched has exactly one MAPTurnCompleted with its token.
local function close_grant(events, number, turn, result)
  result.usage = untold(turn) or result.usage
  local payload = turn_payload(number, turn)
  payload.result = result
  emit(events, 'MAPTurnCompleted', payload, turn.role_id)
end

local function save(turns, number, turn)
  redis.call('HSET', turns, number, cjson.encode(turn))
end

local function fetch(turns, number)
  local raw = redis.call('HGET', turns, number)
  return raw and cjson.decode(raw) or nil
end

--- Calls visit(number, turn) for every existing record, in the order of their numbers.
local function each_turn(turns, visit)
  local flat, numbers, records = redis.call('HGETALL', turns), {}, {}
  for i = 1, #flat, 2 do
    if not string.find(flat[i], ':', 1, true) then
      numbers[#numbers + 1], records[flat[i]] = flat[i], flat[i + 1]
    end
  end
  table.sort(numbers, function(a, b) return #a < #b or (#a == #b and a < b) end)
  for _, number in ipairs(numbers) do visit(number, cjson.decode(records[number])) end
end

--- The value of a lock is `token|deadline_ms`: the holder, and the time after which no renewal can extend it.
local function lock_owner(lock)
  local value = redis.call('GET', lock)
  if not value then return nil end
  local token, deadline = string.match(value, '^(.-)|(%d+)$')
  return token, tonumber(deadline)
end

--- The planner's view, taken in the same script (instant) as the change before it.
local function view(session, turns, answer, extra, booked)
  return { answer, NOW, redis.call('HMGET', session, unpack(VIEW)), redis.call('HGETALL', turns), extra or false, booked }
end

--- Tokens of the newest 64 written turns: they distinguish a commit whose answer was lost from a late writer's.
local function written_by(session, number)
  local slot = redis.call('HGET', session, 'token:' .. number % 64)
  if not slot then return nil end
  local of, token = string.match(slot, '^(%d+)|(.*)$')
  return of == number and token or nil
end

--- True if a request is among the newest that were remembered.
local function is_known(session, field, request)
  return string.find(redis.call('HGET', session, field) or '', request, 1, true) ~= nil
end

--- Remembers a request (a UUID). The newest 64 are kept, because a request whose answer was lost may be repeated after others.
local function remember(session, field, request)
  local known = request .. ' ' .. (redis.call('HGET', session, field) or '')
  redis.call('HSET', session, field, string.sub(known, 1, 64 * (#request + 1)))
end

--- Records output that was discarded.
local function lament(journal, number, turn, token)
  note(journal, 'turn.dropped', { turn_number = tonumber(number), participant_id = turn.participant, token_id = token })
end

--- Refuses a stale writer and records it: in the events, or after MAPSessionCompleted, the last event of a session, in the journal only.
local function refuse(session, events, journal, conflict, role)
  if FINAL[redis.call('HGET', session, 'status')] then
    note(journal, 'turn.refused', conflict)
    return
  end
  conflict.conflict = 'stale_token'
  emit(events, 'MAPConflictDetected', conflict, role)
  conflict.resolution = 'refused'
  emit(events, 'MAPConflictResolved', conflict, role)
end

--- Sets what an open turn reserves of the session's limits. Without limits it stays zero.
local function hold(session, turn, unit, amount)
  local name = 'reserved_' .. unit
  local before = turn[name] or 0
  if amount == before then return end
  redis.call('HINCRBY', session, name, amount - before)
  turn[name] = amount > 0 and amount or nil
end

--- Releases everything that a turn has reserved: its spending is in the session's counters.
local function give_back(session, turn)
  hold(session, turn, 'tokens', 0)
  hold(session, turn, 'cost', 0)
end

--- Records in the journal what a turn has spent, if no event of the turn will report it.
local function tell_spent(journal, number, turn, token)
  local usage = untold(turn)
  if not usage then return end
  note(journal, 'turn.spent', {
    turn_number = tonumber(number), participant_id = turn.participant, token_id = token, usage = usage,
  })
end

--- Books the spending of an attempt whose turn continues, or continued, without it. Returns nil if that turn is too old.
--- If no event of the turn will report the spending, the journal records it.
local function book_late(k, number, token, accounts)
  local turn, slot = fetch(k.turns, number), 'spent:' .. number % 64
  local is_over = not turn or turn.status == 'closed'
  if is_over then
    local late = cjson.decode(redis.call('HGET', k.session, slot) or '{}')
    if late.number ~= number then return nil end
    turn = late
  end
  local new = book(k.session, turn, accounts)
  if is_over or turn.status == 'dropped' then tell_spent(k.journal, number, turn, token) end
  if is_over then
    redis.call('HSET', k.session, slot, cjson.encode(turn))
  else
    save(k.turns, number, turn)
  end
  return new
end

--- Appends the messages that were posted from outside while a turn was running.
local function let_in(k)
  local posts = redis.call('HGET', k.session, 'posts')
  if not posts then return end
  for _, message in ipairs(cjson.decode(posts)) do
    redis.call('XADD', k.dialog, '*', 'm', message)
    redis.call('HINCRBY', k.session, 'messages', 1)
  end
  redis.call('HDEL', k.session, 'posts')
end

--- Writes one closed turn: messages, counters, events. The only place that appends to a dialog in progress.
local function settle(k, number, turn, outcome)
  for _, message in ipairs(outcome.messages) do
    redis.call('XADD', k.dialog, '*', 'm', message)
  end
  redis.call('HINCRBY', k.session, 'closed', 1)
  if outcome.kind == 'skipped' then redis.call('HINCRBY', k.session, 'skipped', 1) end
  if #outcome.messages > 0 then redis.call('HINCRBY', k.session, 'messages', #outcome.messages) end
  close_grant(k.events, number, turn, {
    outcome = outcome.kind, messages = #outcome.messages, usage = named({ 0, 0, 0, 0, 0 }), left_out = outcome.left_out, error = outcome.error,
  })
  if turn.broadcast then
    emit(k.events, 'MAPBroadcastReceived', {
      receiver_role_id = turn.role_id,
      response = { turn_number = tonumber(number), participant_id = turn.participant, outcome = outcome.kind },
    }, turn.role_id)
  end
  note_all(k.journal, outcome.notes)
  turn.status, turn.settled_ms = 'closed', NOW
  give_back(k.session, turn)
  if turn.grants > 1 then
    redis.call('HSET', k.session, 'spent:' .. number % 64, cjson.encode({
      number = number, participant = turn.participant, spent = turn.spent, told = turn.told,
    }))
  end
  redis.call('HSET', k.turns, number, cjson.encode(turn), number .. ':result', outcome.result)
  redis.call('HDEL', k.turns, number .. ':plan', number .. ':held', number .. ':wait')
    -- To recognise a repeated write: the holder by its token, the sender of a reply by its request.
  local writer = turn.request or turn.token
  redis.call('HSET', k.session, 'updated_ms', turn.settled_ms, 'token:' .. number % 64, number .. '|' .. writer)
  let_in(k)
end

--- Locks by the token of their holder.
local function holders(locks)
  local held = {}
  for _, lock in ipairs(locks) do held[lock_owner(lock) or ''] = lock end
  return held
end

--- Removes an open turn from the session, and its lock if the turn still holds it (another turn of the same scope
--- may have taken the lock). The record stays for a while, to recognise a late commit.
local function drop(k, number, turn, outcome, held)
  if turn.status == 'speaking' or turn.status == 'held' or turn.status == 'parked' then
    close_grant(k.events, number, turn, { outcome = outcome, messages = 0 })
    if held[turn.token] then redis.call('DEL', held[turn.token]) end
  end
  if turn.status == 'held' then lament(k.journal, number, turn, turn.token) end
  tell_spent(k.journal, number, turn, turn.token) -- an attempt may have reported late, while the turn has no running worker
  turn.status, turn.settled_ms = 'dropped', NOW
  give_back(k.session, turn)
    -- About 64 are remembered: a later commit is refused like any stale one.
  local old = fetch(k.turns, number - 64)
  if old and old.status == 'dropped' then redis.call('HDEL', k.turns, number - 64) end
  save(k.turns, number, turn)
  redis.call('HDEL', k.turns, number .. ':plan', number .. ':held', number .. ':wait')
end

local function is_open(turn)
  return turn.status ~= 'closed' and turn.status ~= 'dropped'
end

--- Sets the status of the session and its dialog; the caller has checked the transition.
local function move(k, status, dialog_status, request)
  redis.call('HSET', k.session, 'status', status, 'dialog_status', dialog_status, 'updated_ms', NOW,
    'moved_by', request or '')
  note(k.journal, 'session.' .. status, { dialog = dialog_status })
end

--- Answers a status change without a valid transition: refused, unless it repeats the newest change
--- (same request, because its first answer was lost).
local function again(session, turns, request, answer)
  return view(session, turns, redis.call('HGET', session, 'moved_by') == request and answer or 'refused')
end

--- Ends the session in one step: closes open turns, records why, and lets the live keys expire.
local function finish(k, ending, held)
  each_turn(k.turns, function(number, turn)
    if is_open(turn) then drop(k, number, turn, 'cancelled', held) end
  end)
  let_in(k)
  redis.call('HSET', k.session, 'reason', ending.reason, 'detail', ending.detail, 'ended_ms', NOW)
  move(k, ending.status, ending.status, ending.request)
  emit(k.events, 'MAPSessionCompleted', {
    status = ending.status, reason = ending.reason, detail = ending.detail,
    turns = tonumber(redis.call('HGET', k.session, 'closed')),
  })
    -- Data that is not archived yet must not expire: archived.lua sets the expiry later.
  if redis.call('HGET', k.session, 'archive') == 'owed' then return end
  for _, key in pairs(k) do redis.call('PEXPIREAT', key, NOW + ending.retention_ms) end
end

--- Applies a plan made for the current version of the session; `locks` are those of the turns that it drops.
--- Returns the numbers of the new turns. By `planned_by` a planner whose answer was lost recognises its own plan.
local function apply(k, locks, plan)
  for _, number in ipairs(plan.consumed) do
    redis.call('HDEL', k.turns, number, number .. ':result')
  end
  for id, entry in pairs(plan.board) do redis.call('HSET', k.board, id, entry) end
  redis.call('HINCRBY', k.session, 'version', 1)
  redis.call('HSET', k.session, 'stop', plan.stop, 'rounds', plan.rounds, 'planned_by', plan.id)
  note_all(k.journal, plan.notes)
  local held = holders(locks)
  if plan.finish then
    finish(k, plan.finish, held)
    return {}
  end
  for _, number in ipairs(plan.drop) do
    local turn = fetch(k.turns, number)
    if turn and is_open(turn) then drop(k, number, turn, 'dropped', held) end
  end
  if plan.promotes then
    local collab, spec = unpack(redis.call('HMGET', k.session, 'next_collab', 'next_spec'))
    redis.call('HSET', k.session, 'collab', collab, 'spec', spec)
    redis.call('HDEL', k.session, 'next_collab', 'next_spec', 'awaited')
    redis.call('HINCRBY', k.session, 'edition', 1)
    note(k.journal, 'roster.changed', { participants = plan.promotes })
  end
  let_in(k)
  local snapshot = redis.call('XREVRANGE', k.dialog, '+', '-', 'COUNT', 1)[1]
  local numbers = {}
  for _, planned in ipairs(plan.turns) do
    local number = redis.call('HINCRBY', k.session, 'next', 1) - 1
    local turn = planned.record
    turn.status, turn.grants, turn.failures, turn.dispatches = 'planned', 0, 0, 0
    turn.dispatched_ms, turn.queued_ms, turn.not_before = NOW, NOW, 0
    if turn.snapshot then turn.until_id = snapshot and snapshot[1] or '0-0' end
    redis.call('HSET', k.turns, number, cjson.encode(turn), number .. ':plan', planned.plan)
    numbers[#numbers + 1] = number
  end
  redis.call('HSET', k.session, 'planner', plan.planner, 'ends_round', plan.ends_round, 'updated_ms', NOW)
  if plan.announce then
    emit(k.events, 'MAPBroadcastSent', plan.announce.payload, plan.announce.payload.broadcaster_role_id, plan.announce.targets)
  end
  return numbers
end

--- Sets the expiry of keys.
local function let_expire(keys, at_ms)
  for _, key in pairs(keys) do redis.call('PEXPIREAT', key, at_ms) end
end

--- True if a stream has an entry after a mark, which is the id of an entry.
local function is_behind(stream, mark)
  return #redis.call('XRANGE', stream, '(' .. mark, '+', 'COUNT', 1) > 0
end

--- Ids and texts of the entries after a mark, and the rest of `room` bytes: nothing when there may be more entries.
local function behind(stream, mark, room)
  local flat = {}
  while room > 0 do
    local some = redis.call('XRANGE', stream, '(' .. mark, '+', 'COUNT', 32)
    for _, entry in ipairs(some) do
      mark = entry[1]
      flat[#flat + 1], flat[#flat + 2] = mark, entry[2][2]
      room = room - #entry[2][2]
    end
    if #some < 32 then return flat, math.max(room, 1) end
  end
  return flat, room
end

--- Adds the entries (ids and texts) that come after the last entry of a stream.
local function add_behind(stream, field, entries)
  local newest = redis.call('XREVRANGE', stream, '+', '-', 'COUNT', 1)[1]
  local ms, seq = string.match(newest and newest[1] or '0-0', '^(%d+)-(%d+)$')
  ms, seq = tonumber(ms), tonumber(seq)
  for i = 1, #entries, 2 do
    local entry_ms, entry_seq = string.match(entries[i], '^(%d+)-(%d+)$')
    entry_ms, entry_seq = tonumber(entry_ms), tonumber(entry_seq)
    if entry_ms > ms or (entry_ms == ms and entry_seq > seq) then
      redis.call('XADD', stream, entries[i], field, entries[i + 1])
    end
  end
end

--- Creates hashes.
local function fill(keys, hashes)
  for i, key in ipairs(keys) do
    redis.call('DEL', key)
    for name, value in pairs(hashes[i]) do redis.call('HSET', key, name, value) end
  end
end

--- Removes the expiry of keys.
local function keep(keys)
  for _, key in ipairs(keys) do redis.call('PERSIST', key) end
end

--- schedules/claim: claims a due time, or a run that was requested by hand.
--- KEYS: entry queue history look
--- ARGV: name id due_ms by_hand overlap most_queued most_kept
--- USES: clock
--- ANSWERS: running queued skipped missed taken busy paused missing
--- GUARANTEE: times are claimed in their order, each once, however often a beat reports them. A claimed run
--- is running, queued or in the history. `busy`: the running one must be cancelled first; nothing has changed.
local document, last, paused, running, asked =
  unpack(redis.call('HMGET', entry, 'document', 'last_ms', 'paused', 'running', 'asked'))
if not document then return { 'missing' } end
due_ms = tonumber(due_ms)
if by_hand == '' then
  if paused then return { 'paused' } end
  if due_ms <= tonumber(last) then return { 'taken' } end
elseif asked == id then
  return { 'taken' }
end
if running and overlap == 'cancel' then return { 'busy' } end
if by_hand == '' then redis.call('HSET', entry, 'last_ms', due_ms) else redis.call('HSET', entry, 'asked', id) end
redis.call('ZADD', look, 'LT', NOW, name)

local function write_history(outcome, detail)
  redis.call('LPUSH', history, cjson.encode({
    id = id, due_ms = due_ms, by_hand = by_hand ~= '', outcome = outcome, ended_ms = NOW, detail = detail,
  }))
  redis.call('LTRIM', history, 0, most_kept - 1)
end

if overlap == 'missed' then
  write_history('missed', 'no worker or beat was running when it was due')
  return { 'missed' }
end
if overlap == 'overtaken' then
  write_history('skipped', 'a newer run was due')
  return { 'skipped' }
end
local run = cjson.encode({ id = id, due_ms = due_ms, by_hand = by_hand ~= '', claimed_ms = NOW })
if not running then
  redis.call('HSET', entry, 'running', run)
  return { 'running' }
end
local is_full = redis.call('LLEN', queue) >= tonumber(most_queued)
if overlap ~= 'queue' or is_full then
  write_history('skipped', overlap == 'queue' and 'the queue of runs is full' or 'an earlier run had not finished')
  return { 'skipped' }
end
redis.call('RPUSH', queue, run)
return { 'queued' }

--- schedules/end_run: ends the running run and takes the next from the queue.
--- KEYS: entry queue history
--- ARGV: id record most_kept
--- USES:
--- ANSWERS: next idle other
--- GUARANTEE: a run ends once, and is in the history once.
local running = redis.call('HGET', entry, 'running')
if not running or cjson.decode(running).id ~= id then return { 'other' } end
redis.call('LPUSH', history, record)
redis.call('LTRIM', history, 0, most_kept - 1)
local next_run = redis.call('LPOP', queue)
if not next_run then
  redis.call('HDEL', entry, 'running')
  return { 'idle' }
end
redis.call('HSET', entry, 'running', next_run)
return { 'next' }

--- schedules/remove: deletes a schedule, its queue and its history.
--- KEYS: entry queue history beat look
--- ARGV: name
--- USES:
--- ANSWERS: removed missing
--- GUARANTEE: no run begins under it any more; running jobs continue.
redis.call('ZREM', beat, entry)
redis.call('ZREM', look, name)
if redis.call('DEL', entry, queue, history) == 0 then return { 'missing' } end
return { 'removed' }

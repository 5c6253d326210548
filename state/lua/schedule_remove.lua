--- schedule_remove: forgets a schedule, what waits and its history.
--- KEYS: entry queue history beat look
--- ARGV: name
--- ANSWERS: removed missing
--- GUARANTEE: nothing begins under it any more; what runs goes on.
redis.call('ZREM', beat, entry)
redis.call('ZREM', look, name)
if redis.call('DEL', entry, queue, history) == 0 then return { 'missing' } end
return { 'removed' }

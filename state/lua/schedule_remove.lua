--- schedule_remove: forgets a schedule, what waits and its history.
--- KEYS: entry queue history beat look
--- ARGV: name
--- ANSWERS: removed missing
--- GUARANTEE: nothing begins under it any more; what runs goes on.
redis.call('ZREM', beat, entry)
redis.call('ZREM', look, name)
return { redis.call('DEL', entry, queue, history) > 0 and 'removed' or 'missing' }

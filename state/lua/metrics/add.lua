--- metrics/add: adds the counts of one process to the counters.
--- KEYS: counts batch
--- ARGV: number ttl_ms additions*
--- USES:
--- ANSWERS: added again
--- GUARANTEE: a batch is added once: the sender repeats it, under the same number, until it gets an answer.
--- `additions` are pairs of a counter and an integer.
if redis.call('GET', batch) == number then return { 'again' } end
for i = 1, #additions, 2 do redis.call('HINCRBY', counts, additions[i], additions[i + 1]) end
redis.call('SET', batch, number, 'PX', ttl_ms)
return { 'added' }

--- steps/finish: records that a step is over; its record expires.
--- KEYS: step
--- ARGV: ttl_ms
--- USES:
--- ANSWERS: finished
--- GUARANTEE: a later message of the step finds `done`. A step without a record gets one.
redis.call('HSET', step, 'stage', 'done')
redis.call('HDEL', step, 'call', 'claimed_until_ms')
redis.call('PEXPIRE', step, ttl_ms)
return { 'finished' }

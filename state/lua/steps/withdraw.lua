--- steps/withdraw: removes a step whose message could not be sent.
--- KEYS: step
--- ARGV:
--- USES:
--- ANSWERS: removed kept
--- GUARANTEE: a step that a worker has begun to open is kept: the message was sent although the call failed.
if redis.call('HGET', step, 'stage') ~= 'sent' then return { 'kept' } end
redis.call('DEL', step)
return { 'removed' }

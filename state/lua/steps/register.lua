--- steps/register: stores the message of a step, once, before the message is sent or its session is opened.
--- KEYS: step
--- ARGV: call stage
--- USES:
--- ANSWERS: registered exists done
--- GUARANTEE: a repeated call changes only the stage, which never goes back: `sent`, `waiting`, `done`.
local there = redis.call('HGET', step, 'stage')
if there == 'done' then return { 'done' } end
redis.call('HSETNX', step, 'call', call)
if not there or stage == 'waiting' then redis.call('HSET', step, 'stage', stage) end
if there then return { 'exists' } end
return { 'registered' }

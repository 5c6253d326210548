--- steps/register: stores the message of a step, once, before the message is sent or its session is opened.
--- KEYS: step
--- ARGV: call stage
--- USES: clock
--- ANSWERS: registered(now_ms) exists(now_ms) done(now_ms)
--- GUARANTEE: a repeated call changes only the stage, which never goes back: `sent`, `waiting`, `done`; and the time at
--- which a message was sent.
local there = redis.call('HGET', step, 'stage')
if there == 'done' then return { 'done', NOW } end
redis.call('HSETNX', step, 'call', call)
if stage == 'sent' then redis.call('HSET', step, 'sent_ms', NOW) end
if not there or stage == 'waiting' then redis.call('HSET', step, 'stage', stage) end
if there then return { 'exists', NOW } end
if stage == 'sent' then redis.call('HSET', step, 'sends', 1) end
return { 'registered', NOW }

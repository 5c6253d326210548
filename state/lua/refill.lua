--- refill: gives a lost session entries of one of its streams back, under the ids that they had.
--- KEYS: session dialog events journal
--- ARGV: part entries*
--- ANSWERS: refilled exists
--- GUARANTEE: an entry that is there is not added again, and nothing is added to a session that is live. What is
--- never finished by `restore` expires.
if redis.call('EXISTS', session) == 1 then return { 'exists' } end
local streams = { dialog = { dialog, 'm' }, events = { events, 'e' }, journal = { journal, 'e' } }
add_behind(streams[part][1], streams[part][2], entries)
let_expire({ streams[part][1] }, NOW + 3600000)
return { 'refilled' }

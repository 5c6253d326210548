--- archive/restore_stream: writes entries of one stream of a lost session again, with their original ids.
--- KEYS: session dialog events journal
--- ARGV: part entries*
--- USES: clock keys streams
--- ANSWERS: refilled exists
--- GUARANTEE: an existing entry is not added again, and nothing is added to a live session. Entries that
--- no `restore` completes expire.
if redis.call('EXISTS', session) == 1 then return { 'exists' } end
local streams = { dialog = { dialog, 'm' }, events = { events, 'e' }, journal = { journal, 'e' } }
append_newer_entries(streams[part][1], streams[part][2], entries)
expire_keys({ streams[part][1] }, NOW + 3600000)
return { 'refilled' }

--- archive/snapshot: reads the part of a session that the archive lacks.
--- KEYS: session dialog events journal turns board
--- ARGV: opened_ms updated_ms dialog_mark events_mark journal_mark newest_format
--- USES: streams
--- ANSWERS: unchanged page(opened_ms, documents, dialog, events, journal, hashes) newer missing
--- GUARANTEE: changes nothing. `hashes` is present when the page holds all remaining entries: then everything shows the
--- same instant. A page holds about 4 MB. If the id was used again, the archive lacks everything. `newer`: the format of
--- the session is above `newest_format`.
local opened, updated, collab, spec, format =
  unpack(redis.call('HMGET', session, 'opened_ms', 'updated_ms', 'collab', 'spec', 'format'))
if not opened then return { 'missing' } end
if (tonumber(format or nil) or 1) > tonumber(newest_format) then return { 'newer' } end
if opened ~= opened_ms then dialog_mark, events_mark, journal_mark = '0-0', '0-0', '0-0' end
local bytes_left, messages, map_events, journal_entries = 4000000, nil, nil, nil
messages, bytes_left = read_entries_after(dialog, dialog_mark, bytes_left)
map_events, bytes_left = read_entries_after(events, events_mark, bytes_left)
journal_entries, bytes_left = read_entries_after(journal, journal_mark, bytes_left)
if updated == updated_ms and #messages + #map_events + #journal_entries == 0 then return { 'unchanged' } end
local hashes = {}
if bytes_left > 0 then
  local fields, flat = {}, redis.call('HGETALL', session)
  for i = 1, #flat, 2 do
    if flat[i] ~= 'collab' and flat[i] ~= 'spec' then
      fields[#fields + 1], fields[#fields + 2] = flat[i], flat[i + 1]
    end
  end
  hashes = { fields, redis.call('HGETALL', turns), redis.call('HGETALL', board) }
end
return { 'page', tonumber(opened), { collab, spec }, messages, map_events, journal_entries, hashes }

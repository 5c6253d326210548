--- snapshot: reads the part of a session that the archive lacks.
--- KEYS: session dialog events journal turns board
--- ARGV: opened_ms updated_ms dialog_mark events_mark journal_mark
--- USES: streams
--- ANSWERS: unchanged page(opened_ms, documents, dialog, events, journal, hashes) missing
--- GUARANTEE: changes nothing. `hashes` is present when the page holds all remaining entries: then everything shows the
--- same instant. A page holds about 4 MB. If the id was used again, the archive lacks everything.
local opened, updated, collab, spec = unpack(redis.call('HMGET', session, 'opened_ms', 'updated_ms', 'collab', 'spec'))
if not opened then return { 'missing' } end
if opened ~= opened_ms then dialog_mark, events_mark, journal_mark = '0-0', '0-0', '0-0' end
local room, said, happened, noted = 4000000, nil, nil, nil
said, room = behind(dialog, dialog_mark, room)
happened, room = behind(events, events_mark, room)
noted, room = behind(journal, journal_mark, room)
if updated == updated_ms and #said + #happened + #noted == 0 then return { 'unchanged' } end
local hashes = {}
if room > 0 then
  local fields, flat = {}, redis.call('HGETALL', session)
  for i = 1, #flat, 2 do
    if flat[i] ~= 'collab' and flat[i] ~= 'spec' then
      fields[#fields + 1], fields[#fields + 2] = flat[i], flat[i + 1]
    end
  end
  hashes = { fields, redis.call('HGETALL', turns), redis.call('HGETALL', board) }
end
return { 'page', tonumber(opened), { collab, spec }, said, happened, noted, hashes }

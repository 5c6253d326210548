--- archive/expire: lets the live keys of an ended session expire, now that the archive has them.
--- KEYS: session dialog events journal turns board attachments
--- ARGV: opened_ms dialog_mark events_mark journal_mark retention_ms
--- USES: clock status keys streams
--- ANSWERS: kept(ended_ms) behind missing
--- GUARANTEE: no data expires that the archive lacks: with one entry after a mark, all keys
--- stay (answer `behind`).
local opened, status, ended = unpack(redis.call('HMGET', session, 'opened_ms', 'status', 'ended_ms'))
if opened ~= opened_ms then return { 'missing' } end
if not FINAL[status] or has_entries_after(dialog, dialog_mark) or has_entries_after(events, events_mark)
  or has_entries_after(journal, journal_mark) then return { 'behind' } end
if redis.call('HGET', session, 'archive') == 'owed' then
  redis.call('HSET', session, 'archive', 'kept')
  expire_keys({ session, dialog, events, journal, turns, board, attachments }, NOW + retention_ms)
end
return { 'kept', tonumber(ended) }

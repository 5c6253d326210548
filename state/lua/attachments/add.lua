--- attachments/add: stores the bytes of an attachment, before a message refers to it.
--- KEYS: session attachments
--- ARGV: sha256 data phase most_bytes most_number keep_ms
--- USES: status
--- ANSWERS: added exists ended missing full
--- GUARANTEE: a repeated call changes nothing, because the digest names the bytes. The attachments of a session never
--- exceed `most_bytes` together, nor `most_number`; the field `bytes` holds their size. In the phase `early` the session
--- is not open yet: opening or restoring it removes the time to live of `keep_ms`. An existing session gets nothing then.
local status = redis.call('HGET', session, 'status')
if phase == 'early' and status then return { 'exists' } end
if phase ~= 'early' and not status then return { 'missing' } end
if FINAL[status] then return { 'ended' } end
if redis.call('HEXISTS', attachments, sha256) == 0 then
  local bytes = tonumber(redis.call('HGET', attachments, 'bytes') or 0) + #data
  local number = math.max(redis.call('HLEN', attachments), 1)
  if bytes > tonumber(most_bytes) or number > tonumber(most_number) then return { 'full' } end
  redis.call('HSET', attachments, sha256, data, 'bytes', bytes)
  if status then redis.call('HSET', session, 'attachments', number) end
end
if phase == 'early' then redis.call('PEXPIRE', attachments, keep_ms) end
return { 'added' }

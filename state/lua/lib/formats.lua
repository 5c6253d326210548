--- lib/formats: the format of a session.
--- USES:

--- Raise the format of a session that gets its first field of a newer one: workers that cannot read it leave the session.
local function raise_format(session, format)
  local known = redis.call('HGET', session, 'format') or '1' -- sessions of the first releases have none
  if tonumber(format) > tonumber(known) then redis.call('HSET', session, 'format', format) end
end

--- lib/requests: requests and writers that are recognised when they are sent again.
--- USES:

--- Tokens of the newest 64 written turns: they distinguish a commit whose answer was lost from a late writer's.
local function written_by(session, number)
  local slot = redis.call('HGET', session, 'token:' .. number % 64)
  if not slot then return nil end
  local of, token = string.match(slot, '^(%d+)|(.*)$')
  return of == number and token or nil
end

--- True if a request is among the newest that were remembered.
local function is_known(session, field, request)
  return string.find(redis.call('HGET', session, field) or '', request, 1, true) ~= nil
end

--- Remembers a request (a UUID). The newest 64 are kept, because a request whose answer was lost may be repeated after others.
local function remember(session, field, request)
  local known = request .. ' ' .. (redis.call('HGET', session, field) or '')
  redis.call('HSET', session, field, string.sub(known, 1, 64 * (#request + 1)))
end

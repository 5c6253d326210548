--- lib/requests: recognition of repeated requests and repeated writes.
--- USES:

--- Return the writer of a turn, if it is one of the newest 64 written turns. It distinguishes a repeated commit, whose
--- first answer was lost, from that of a late writer.
local function writer_of(session, number)
  local slot = redis.call('HGET', session, 'token:' .. number % 64)
  if not slot then return nil end
  local slot_number, token = string.match(slot, '^(%d+)|(.*)$')
  return slot_number == number and token or nil
end

--- Return true if a request is among the newest 64 that were remembered.
local function is_known_request(session, field, request)
  return string.find(redis.call('HGET', session, field) or '', request, 1, true) ~= nil
end

--- Remember a request (a UUID). The newest 64 are kept, because a request whose answer was lost may be repeated after
--- others.
local function remember_request(session, field, request)
  local known = request .. ' ' .. (redis.call('HGET', session, field) or '')
  redis.call('HSET', session, field, string.sub(known, 1, 64 * (#request + 1)))
end

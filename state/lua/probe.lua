--- probe: lets one hint be sent again although the one before may still be in the queue.
--- KEYS: taken
--- ARGV: grace_ms ttl_ms
--- ANSWERS: granted refused(wait_ms)
--- GUARANTEE: while workers take messages nothing is granted. While they take none, one is granted, then after grace another,
--- then after twice that, four times that, at most eight times that. `wait_ms`: ask again after this, at the latest after grace.
local grace = tonumber(grace_ms)
local function of(field)
  local ms = tonumber(redis.call('HGET', taken, field) or nil) or 0
  return ms <= NOW and ms or 0 -- the server's clock was set back
end
local since_ms = NOW - of('moved_ms')
if since_ms < grace / 4 then return { 'refused', math.floor(grace / 4 - since_ms) + 1 } end
local probed, probes = of('probed_ms'), 0
if probed > of('taken_ms') then
  probes = tonumber(redis.call('HGET', taken, 'probes'))
  since_ms = NOW - probed
  -- It may be taken any moment now: those who wait for that ask sooner while it is new.
  if since_ms < grace * 2 ^ math.min(probes - 1, 3) then
    return { 'refused', math.floor(math.min(math.max(since_ms, grace / 10), grace)) }
  end
end
redis.call('HSET', taken, 'probed_ms', NOW, 'probes', probes + 1)
redis.call('PEXPIRE', taken, ttl_ms)
return { 'granted' }

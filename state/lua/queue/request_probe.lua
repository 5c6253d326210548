--- queue/request_probe: permits one message to be sent again although the one before may still be in the queue.
--- KEYS: taken
--- ARGV: grace_ms ttl_ms
--- USES: clock
--- ANSWERS: granted refused(wait_ms)
--- GUARANTEE: while workers take messages, or all are busy, no probe is granted. While a free worker takes none, one is
--- granted, the next after the grace time, then after twice, four times, at most eight times that. `wait_ms`: ask again
--- after this time, which is at most the grace time.
local grace = tonumber(grace_ms)
local function time_of(field)
  local ms = tonumber(redis.call('HGET', taken, field) or nil) or 0
  return ms <= NOW and ms or 0 -- the server's clock was set back
end
--- Any worker may ask on behalf of a free one. A worker reports that it is free whenever it sweeps.
if NOW - time_of('free_ms') > math.max(grace, 2000) then return { 'refused', grace } end
local since_ms = NOW - time_of('moved_ms')
if since_ms < grace / 4 then return { 'refused', math.floor(grace / 4 - since_ms) + 1 } end
local probed, probes = time_of('probed_ms'), 0
if probed > time_of('taken_ms') then
  probes = tonumber(redis.call('HGET', taken, 'probes'))
  since_ms = NOW - probed
  -- A worker may take the probe at any moment: callers that wait for it ask again sooner while it is new.
  if since_ms < grace * 2 ^ math.min(probes - 1, 3) then
    return { 'refused', math.floor(math.min(math.max(since_ms, grace / 10), grace)) }
  end
end
redis.call('HSET', taken, 'probed_ms', NOW, 'probes', probes + 1)
redis.call('PEXPIRE', taken, ttl_ms)
return { 'granted' }

--- lanes/assign: returns the lane of a tenant, and records that the tenant is active.
--- KEYS: lanes
--- ARGV: tenant preferred weight count ttl_ms max_tenants
--- USES: clock
--- ANSWERS: lane(number)
--- GUARANTEE: an active tenant keeps its lane. A new one gets the preferred lane unless another active tenant uses it, else
--- the next one that the fewest tenants use.
--- `weight`: lanes that the tenant uses, from its lane on. `count`: number of lanes. `ttl_ms`: time without a call after which
--- a tenant is not active. Beyond `max_tenants` active tenants, each new one gets its preferred lane, and is not recorded.
local own, total, ttl = tonumber(preferred), tonumber(count), tonumber(ttl_ms)
local function read(entry)
  local lane, size, ms = string.match(entry or '', '^(%d+) (%d+) (%d+)$')
  if lane and tonumber(lane) < total and NOW - tonumber(ms) < ttl then return tonumber(lane), tonumber(size) end
end
local lane = read(redis.call('HGET', lanes, tenant) or nil)
if not lane then
  local users, active = {}, 0
  local entries = redis.call('HGETALL', lanes)
  for i = 1, #entries, 2 do
    local first, size = read(entries[i + 1])
    if first then
      active = active + 1
      for n = first, first + math.min(size, total) - 1 do
        users[n % total] = (users[n % total] or 0) + 1
      end
    else
      redis.call('HDEL', lanes, entries[i])
    end
  end
  lane = own
  if active >= tonumber(max_tenants) then return { 'lane', lane } end
  for n = 1, total - 1 do
    local other = (own + n) % total
    if (users[other] or 0) < (users[lane] or 0) then lane = other end
  end
end
redis.call('HSET', lanes, tenant, lane .. ' ' .. weight .. ' ' .. string.format('%.0f', NOW))
redis.call('PEXPIRE', lanes, ttl_ms)
return { 'lane', lane }

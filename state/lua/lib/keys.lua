--- lib/keys: expiry and contents of whole keys.
--- USES:

--- Sets the expiry of keys.
local function let_expire(keys, at_ms)
  for _, key in pairs(keys) do redis.call('PEXPIREAT', key, at_ms) end
end

--- Removes the expiry of keys.
local function keep(keys)
  for _, key in ipairs(keys) do redis.call('PERSIST', key) end
end

--- Creates hashes.
local function fill(keys, hashes)
  for i, key in ipairs(keys) do
    redis.call('DEL', key)
    for name, value in pairs(hashes[i]) do redis.call('HSET', key, name, value) end
  end
end

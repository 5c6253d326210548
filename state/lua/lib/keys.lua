--- lib/keys: expiry of keys, and writing of hashes.
--- USES:

--- Set the expiry of keys.
local function expire_keys(keys, at_ms)
  for _, key in pairs(keys) do redis.call('PEXPIREAT', key, at_ms) end
end

--- Remove the expiry of keys.
local function persist_keys(keys)
  for _, key in ipairs(keys) do redis.call('PERSIST', key) end
end

--- Write fields of hashes.
local function write_hashes(keys, hashes)
  for i, key in ipairs(keys) do
    for name, value in pairs(hashes[i]) do redis.call('HSET', key, name, value) end
  end
end

--- Create hashes; replace existing ones.
local function create_hashes(keys, hashes)
  for _, key in ipairs(keys) do redis.call('DEL', key) end
  write_hashes(keys, hashes)
end

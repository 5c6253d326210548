--- memory/swap: replaces a dialog memory if it is unchanged since it was read, else returns the current one.
--- KEYS: memory
--- ARGV: version text ttl_ms
--- USES:
--- ANSWERS: swapped changed(text)
--- GUARANTEE: of two writers that read the same memory, one gets `changed` with the other's text, so nothing is
--- lost. `version` is the SHA-1 of the text that was read, empty if there was none. An empty `text` deletes;
--- `ttl_ms` 0 keeps the time to live. The same call again (its answer was lost) answers `swapped` again.
local current = redis.call('GET', memory)
local found = current and redis.sha1hex(current) or ''
if found ~= version then
  if (current or '') == text then return { 'swapped' } end
  return { 'changed', current or '' }
end
if text == '' then
  redis.call('DEL', memory)
elseif ttl_ms == '0' then
  redis.call('SET', memory, text, 'KEEPTTL')
else
  redis.call('SET', memory, text, 'PX', ttl_ms)
end
return { 'swapped' }

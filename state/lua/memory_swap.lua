--- memory_swap: puts a dialog memory in the place of the one that was read, or tells what is there now.
--- KEYS: memory
--- ARGV: version text ttl_ms
--- ANSWERS: swapped changed(text)
--- GUARANTEE: of two writers that read the same memory one is answered `changed`, with what the other
--- wrote, so that nothing is lost. `version` is the SHA-1 of what was read, empty for nothing. An empty
--- `text` removes; `ttl_ms` 0 leaves the time to live as it is. Asked again (its answer was lost), it
--- answers `swapped` again.
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

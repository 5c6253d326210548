--- lib/streams: entries of a stream after a known entry.
--- USES:

--- Return true if a stream has an entry after a mark, which is the id of an entry.
local function has_entries_after(stream, mark)
  return #redis.call('XRANGE', stream, '(' .. mark, '+', 'COUNT', 1) > 0
end

--- Return the ids and texts of the entries after a mark, and the rest of `bytes_left`: 0 or less if there may be more
--- entries.
local function read_entries_after(stream, mark, bytes_left)
  local flat = {}
  while bytes_left > 0 do
    local some = redis.call('XRANGE', stream, '(' .. mark, '+', 'COUNT', 32)
    for _, entry in ipairs(some) do
      mark = entry[1]
      flat[#flat + 1], flat[#flat + 2] = mark, entry[2][2]
      bytes_left = bytes_left - #entry[2][2]
    end
    if #some < 32 then return flat, math.max(bytes_left, 1) end
  end
  return flat, bytes_left
end

--- Append the entries (ids and texts) that are newer than the last entry of a stream.
local function append_newer_entries(stream, field, entries)
  local newest = redis.call('XREVRANGE', stream, '+', '-', 'COUNT', 1)[1]
  local ms, seq = string.match(newest and newest[1] or '0-0', '^(%d+)-(%d+)$')
  ms, seq = tonumber(ms), tonumber(seq)
  for i = 1, #entries, 2 do
    local entry_ms, entry_seq = string.match(entries[i], '^(%d+)-(%d+)$')
    entry_ms, entry_seq = tonumber(entry_ms), tonumber(entry_seq)
    if entry_ms > ms or (entry_ms == ms and entry_seq > seq) then
      redis.call('XADD', stream, entries[i], field, entries[i + 1])
    end
  end
end

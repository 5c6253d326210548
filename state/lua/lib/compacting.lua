--- lib/compacting: streams in as little memory as their entries need.
--- USES:

--- Copy streams of up to 16 kB over themselves. The server allocates 4 kB for the first entry of a stream, and a copy
--- only what the entries need. `spare` is the key of the copy. Without the rights to both commands, the streams stay as
--- they are.
local function compact_streams(streams, spare)
  for _, stream in ipairs(streams) do
    local bytes = tonumber(redis.pcall('MEMORY', 'USAGE', stream)) -- nil: an error, or no stream
    if bytes and bytes <= 16384 and redis.pcall('COPY', stream, spare, 'REPLACE') == 1 then
      redis.call('COPY', spare, stream, 'REPLACE')
      redis.call('DEL', spare)
    end
  end
end

--- anew: enters members into an index, also once more.
--- KEYS: due
--- ARGV: at_ms fraction members*
--- ANSWERS: entered
--- GUARANTEE: whoever has read the entry that stands there and is about to drop it does not drop the new one: that one has
--- another time within the millisecond. From those before it differs, but for one in 2047. `fraction` is above 0, below 0.5.
for _, member in ipairs(members) do
    local time = at_ms + fraction
    if tonumber(redis.call('ZSCORE', due, member) or nil) == time then time = time + 0.5 end
    redis.call('ZADD', due, time, member)
end
return { 'entered' }

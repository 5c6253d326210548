--- due_index/add: adds members to an index, or updates them.
--- KEYS: due
--- ARGV: at_ms fraction members*
--- USES:
--- ANSWERS: entered
--- GUARANTEE: a concurrent `remove` that has read the earlier entry does not remove the new one, because the new one has
--- another time within the millisecond. It differs from earlier ones except for one in 2047. `fraction`: above 0, below 0.5.
for _, member in ipairs(members) do
  local time = at_ms + fraction
  if tonumber(redis.call('ZSCORE', due, member) or nil) == time then time = time + 0.5 end
  redis.call('ZADD', due, time, member)
end
return { 'entered' }
